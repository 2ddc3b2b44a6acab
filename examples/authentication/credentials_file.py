r"""A callback handler that supplies SCRAM credentials from a file, one line for each user.

The lines are what Kafka kept of its users in ZooKeeper, so that they move without new passwords:

    alice SCRAM-SHA-256=salt=...,stored_key=...,server_key=...,iterations=8192

Try it, in the project's folder; this writes the lines of a user whose password is alice-secret:

    echo alice-secret | python examples/authentication/credentials_file.py alice > credentials.txt

    PYTHONPATH=examples/authentication python -m doorkeeper serve \
        --override listeners=SASL_PLAINTEXT://localhost:9092 \
        --override sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512 \
        --override sasl.server.callback.handler.class=credentials_file.CredentialsFile \
        --override credentials.file=credentials.txt

    credentials.file    the file; it is read at each login
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.plugins import ScramCredential, ScramCredentials, credential_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.plugins import AuthenticationContext


class CredentialsFile(ScramCredentials):
    """Supplies credentials from a file."""

    def configure(
        self,
        configs: Mapping[str, str],
        mechanism: str,
        options: Mapping[str, str],
    ) -> None:
        """Read the file once, so that a wrong one stops the start."""
        self._file = Path(configs.get("credentials.file", ""))
        try:
            read(self._file)
        except (OSError, ValueError) as error:
            raise ValueError(f"credentials.file: {error}") from error

    async def credential(
        self,
        mechanism: str,
        name: str,
        context: AuthenticationContext,
    ) -> ScramCredential | None:
        """Look a user up; None is nobody, and what is raised lets nobody in."""
        return (await asyncio.to_thread(read, self._file)).get((name, mechanism))


def read(file: Path) -> dict[tuple[str, str], ScramCredential]:
    """Return the credentials of a file by user and mechanism.

    Raises:
        OSError: it cannot be read.
        ValueError: a line is wrong; the text says which, and holds nothing of it.

    """
    credentials = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            name, _, rest = line.rpartition(" ")
            mechanism, _, text = rest.partition("=")
            fields = dict(field.split("=", 1) for field in text.split(","))
            salt, stored_key, server_key = (
                base64.b64decode(fields[key], validate=True)
                for key in ("salt", "stored_key", "server_key")
            )
            credentials[name, mechanism] = ScramCredential(
                salt, stored_key, server_key, int(fields["iterations"])
            )
        except (KeyError, ValueError, binascii.Error):
            raise ValueError(f"{file} line {number}: found no credential") from None
    return credentials


def lines_of(name: str, password: str) -> str:
    """Return the lines of a new user."""
    lines = []
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        salt, stored_key, server_key, iterations = credential_of(
            mechanism, password, 8192, os.urandom(16)
        )
        values = [base64.b64encode(value).decode() for value in (salt, stored_key, server_key)]
        text = "salt={},stored_key={},server_key={}".format(*values)
        lines.append(f"{name} {mechanism}={text},iterations={iterations}\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(lines_of(sys.argv[1], sys.stdin.readline().rstrip("\n")))
