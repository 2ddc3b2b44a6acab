"""The contract of handlers: what one declares, what it is given, and what it may return."""
