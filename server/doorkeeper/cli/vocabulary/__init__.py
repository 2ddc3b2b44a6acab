"""What both programs share: options, commands and groups, ``--output json``, progress."""
