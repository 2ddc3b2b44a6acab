"""A connection without its socket: frames, session, response cache, responses."""
