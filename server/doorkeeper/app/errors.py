"""Why a server does not start.

StartError     one line for the operator; the process ends with status 1
"""

from __future__ import annotations


class StartError(Exception):
    """The server cannot start; the text is one line that says why."""
