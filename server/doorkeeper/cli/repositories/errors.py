"""The exceptions of ACL repositories.

RepositoryError         the repository cannot be read or changed
InvalidAddress          a text is not an address (a ValueError)
"""

from __future__ import annotations


class RepositoryError(Exception):
    """A repository cannot be read or changed. ``problems`` are lines that say why.

    An error of the Kafka client is the ``__cause__``.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class InvalidAddress(ValueError):
    """A text is not an address; the message lists the forms."""
