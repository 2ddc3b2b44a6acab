"""What can go wrong in the pipeline; the command tells each in one line.

PipelineError          the job cannot go on
├── Unreadable         an input cannot be read as what it should be
│   └── Unavailable    it is there, and cannot be opened as things are: no permission, a lost disk
├── TooManyUnread      more lines went to quarantine than allowed; nothing was replaced
├── BrokenContract     rows break a rule of severity error; nothing was replaced
├── Busy               another process writes the same tables
└── Missing            Java, or a package of the extra ``spark``, is not there
"""

from __future__ import annotations


class PipelineError(Exception):
    """The job cannot go on; the text says what was found, what is allowed, and where."""


class Unreadable(PipelineError):
    """An input cannot be read as what it should be."""


class Unavailable(Unreadable):
    """An input is there and cannot be opened now: it says nothing of what is in it."""


class TooManyUnread(PipelineError):
    """More lines could not be read than are allowed."""


class BrokenContract(PipelineError):
    """Rows break a rule of severity error."""


class Busy(PipelineError):
    """Another process writes the same tables."""


class Missing(PipelineError):
    """A part that the pipeline needs is not installed."""
