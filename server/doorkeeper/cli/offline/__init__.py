"""Work on the store of a stopped server, and on stores themselves, for commands."""
