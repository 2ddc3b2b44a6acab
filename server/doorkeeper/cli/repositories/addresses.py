"""Addresses of ACL repositories.

acls.yaml, ./path/acls.csv            a file in any format of ``doorkeeper.acls.formats``
-                                     standard input
kafka://host:9092,other:9092          a live cluster, by its brokers
host:9092,other:9092                  the same
controllers://host:9093               a live cluster, by its controllers
config:server.properties              the store that a server's configuration names
store:/var/lib/doorkeeper             the embedded store in a data folder
postgresql://user@host/database       a shared store; also postgres://
backup:acls.backup                    a backup of an embedded store
"""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

STDIN: Final = "-"

STORES: Final = "config:FILE, store:FOLDER or postgresql://USER@HOST/DATABASE"
FORMS: Final = f"a file, kafka://HOST:PORT,..., controllers://HOST:PORT,..., backup:FILE, {STORES}"

# A file with such a name is addressed as ./name: the meaning of an address does not depend on
# the files that happen to exist.
_SERVER = r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d+"
_SERVERS = re.compile(rf"{_SERVER}(?:,{_SERVER})*")
_PASSWORD = re.compile(r"(//[^/@:]*):[^/@]*@")


class AddressKind(Enum):
    """The kinds of repositories; the value is the prefix of their addresses."""

    FILE = ""
    BROKERS = "kafka://"
    CONTROLLERS = "controllers://"
    CONFIG = "config:"
    STORE = "store:"
    SHARED = "postgresql://"
    BACKUP = "backup:"


class Address(NamedTuple):
    """The address of a repository; ``target`` is the text without its prefix."""

    kind: AddressKind
    target: str

    @property
    def is_live(self) -> bool:
        """Say whether it is the address of a live cluster."""
        return self.kind in (AddressKind.BROKERS, AddressKind.CONTROLLERS)

    @property
    def is_store(self) -> bool:
        """Say whether it is the address of a server's store."""
        return self.kind in (AddressKind.CONFIG, AddressKind.STORE, AddressKind.SHARED)

    @property
    def has_history(self) -> bool:
        """Say whether it is the address of a store or a backup."""
        return self.is_store or self.kind is AddressKind.BACKUP

    @property
    def is_stdin(self) -> bool:
        """Say whether it stands for standard input."""
        return (self.kind, self.target) == (AddressKind.FILE, STDIN)

    def __str__(self) -> str:
        """Return the text that ``parse_address`` reads as this address, without a password."""
        return _without_password(f"{self.kind.value}{self.target}")

    def canonical(self) -> str:
        """Return a text that is equal for addresses of one repository.

        Servers are sorted and in lower case; paths are absolute.
        """
        if self.is_live:
            servers = sorted(server.strip().lower() for server in self.target.split(","))
            return f"{self.kind.value}{','.join(servers)}"
        if self.is_stdin or self.kind is AddressKind.SHARED:
            return str(self)
        return f"{self.kind.value}{Path(self.target).resolve()}"


def parse_address(text: str) -> Address:
    """Return the address that a text is.

    Raises:
        ValueError: it is empty, or has a prefix that is not one of ours.
    """
    # libpq takes both schemes.
    text = re.sub("^postgres://", AddressKind.SHARED.value, text)
    for kind in AddressKind:
        if kind.value and text.startswith(kind.value):
            target = text.removeprefix(kind.value)
            # A URL that was copied from a browser ends with a slash.
            target = target.removesuffix("/") if kind.value.endswith("//") else target
            if not target:
                raise ValueError(f"found {text!r}; expected: an address: {FORMS}")
            return Address(kind, target)
    if _SERVERS.fullmatch(text):
        return Address(AddressKind.BROKERS, text)
    if not text or "://" in text:
        raise ValueError(f"found {_without_password(text)!r}; expected: an address: {FORMS}")
    return Address(AddressKind.FILE, text)


def _without_password(text: str) -> str:
    return _PASSWORD.sub(r"\1@", text)
