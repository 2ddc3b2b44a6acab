"""Errors of reading an input. An invalid frame is a result, not an error.

UnreadableInput    the input is not in its format
"""


class UnreadableInput(Exception):
    """An input violates its format; the text has the position and the fault."""
