"""What keeps an input from being read; a broken frame is no error, but what is looked for.

UnreadableInput    the input is not in its format
"""


class UnreadableInput(Exception):
    """An input is not what its format demands: what was found, and where."""
