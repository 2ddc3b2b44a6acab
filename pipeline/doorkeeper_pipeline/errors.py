"""Errors of the pipeline; the command reports each in one line.

PipelineError          the job cannot go on
├── Unreadable         an input is not in the expected format
│   └── Damaged        a compressed file is cut off, or broken, from some place on
├── Conflicting        inputs or options do not belong together; nothing was changed
├── TooManyUnread      more lines went to quarantine than allowed; nothing was replaced
└── Busy               another process writes the same tables
"""

from __future__ import annotations


class PipelineError(Exception):
    """The job cannot go on; the text has the found and the allowed value, and the place."""


class Unreadable(PipelineError):
    """An input is not in the expected format."""


class Damaged(Unreadable):
    """A compressed file is cut off, or broken; everything before that place was read."""


class Conflicting(PipelineError):
    """Inputs or options do not belong together; the text names both, and the remedy."""


class TooManyUnread(PipelineError):
    """More lines could not be read than are allowed."""


class Busy(PipelineError):
    """Another process writes the same tables."""
