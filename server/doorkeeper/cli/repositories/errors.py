"""The exception of ACL repositories."""

from __future__ import annotations


class RepositoryError(Exception):
    """A repository cannot be read or changed. ``problems`` are lines that say why.

    An error of the Kafka client is the ``__cause__``.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
