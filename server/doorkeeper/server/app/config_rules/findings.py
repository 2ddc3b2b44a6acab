"""What a check says: findings, of a rule and a file."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Severity(Enum):
    """Whether a node starts with the fault."""

    ERROR = "error"
    WARNING = "warning"


class Product(Enum):
    """Whose configuration is checked."""

    KAFKA = "a broker or controller of Kafka"
    DOORKEEPER = "Doorkeeper"


class Finding(NamedTuple):
    """A problem with its rule's code and severity, and the file's name. It never has a secret."""

    code: str
    severity: Severity
    file: str
    source: str
    key: str
    text: str

    def __str__(self) -> str:
        """Return ``source: key: text (code)``."""
        return f"{': '.join(filter(None, (self.source, self.key, self.text)))} ({self.code})"
