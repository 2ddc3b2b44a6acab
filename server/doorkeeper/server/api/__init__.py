"""The contract of handlers: their declaration, their arguments, their results."""
