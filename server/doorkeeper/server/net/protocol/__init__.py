"""A connection without its socket: frames, session, responses."""
