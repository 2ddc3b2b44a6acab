"""GSSAPI with a real KDC: no output of the server holds a key of its keytab, or a ticket."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit import kerberos, logins
from testkit.kafka_jars import cannot
from testkit.kdc import Kdc, missing_packages
from testkit.kerberos import LOGIN_MODULE, SERVER, SERVICE, Ticket
from testkit.leaks import files_of, leaks
from testkit.serving import Serving

PIECE = 24
"""So many bytes of a ticket in a row are no chance."""

NAMES_BYTES = 200
"""A ticket begins with names and numbers, which are no secret."""

CONFIGURATION = """\
listeners=DOOR://localhost:0,PLAINTEXT://localhost:0
listener.security.protocol.map=DOOR:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=GSSAPI
sasl.kerberos.service.name={service}
doorkeeper.kerberos.config.file={krb5_conf}
doorkeeper.log.levels=root=TRACE
connection.failed.authentication.delay.ms=0
listener.name.door.gssapi.sasl.jaas.config={module} required useKeyTab=true storeKey=true \\
    keyTab="{keytab}" principal="{principal}";
"""


@pytest.fixture
def kdc() -> Iterator[Kdc]:
    """Give a realm; the environment of this process tells of it."""
    missing = missing_packages()
    if missing is not None:
        cannot(missing)
    before = dict(os.environ)
    with Kdc() as started:
        started.add(SERVER, "alice")
        os.environ.update(kerberos.environment(started))
        try:
            yield started
        finally:
            os.environ.clear()
            os.environ.update(before)


def keys_of(keytab: Path) -> list[bytes]:
    """Return the keys of a keytab."""
    done = subprocess.run(
        ["klist", "-k", "-K", str(keytab)], capture_output=True, text=True, check=True
    )
    return [bytes.fromhex(found) for found in re.findall(r"\(0x([0-9a-f]+)\)", done.stdout)]


def pieces_of(token: bytes) -> list[bytes]:
    """Return the parts of a ticket that only its owner has."""
    return [token[at : at + PIECE] for at in range(NAMES_BYTES, len(token) - PIECE, PIECE)]


def test_no_output_contains_a_key_or_ticket(tmp_path: Path, kdc: Kdc) -> None:
    keytab = kdc.keytab("server.keytab", SERVER)
    clients = kdc.keytab("clients.keytab", "alice")
    cache = kdc.ticket_cache("cache", clients, "alice")
    file = tmp_path / "server.properties"
    file.write_text(
        CONFIGURATION.format(
            service=SERVICE,
            krb5_conf=kdc.configuration,
            module=LOGIN_MODULE,
            keytab=keytab,
            principal=f"{SERVER}@{kdc.realm}",
        )
    )
    tickets = [Ticket(cache) for _ in range(3)]
    good, changed = tickets[0].token, bytearray(tickets[1].token)
    changed[-9] ^= 0xFF
    refused = 0
    with Serving(tmp_path, "--config", str(file)) as server:
        with server.connect("DOOR") as talk:
            logins.chosen(talk, "GSSAPI")
            proof = logins.step(talk, good)
            assert (proof.error_code, proof.auth_bytes != b"") == (0, True)
            refused += bool(logins.step(talk, good).error_code)
        for token in (good, bytes(changed), good[:-40], good * 2, tickets[2].token + b"\0"):
            with server.connect("DOOR") as talk:
                logins.chosen(talk, "GSSAPI")
                try:
                    refused += bool(logins.step(talk, token).error_code)
                except (EOFError, ConnectionError):
                    # A replay is not answered, so that clients try again.
                    refused += 1
            with server.connect("DOOR") as talk:
                request = SaslHandshakeRequest(mechanism="GSSAPI")
                talk.call(request, SaslHandshakeResponse, 0)
                talk.socket.sendall(len(token).to_bytes(4) + token)
            with server.connect("DOOR") as talk, pytest.raises((EOFError, ConnectionError)):
                logins.step(talk, token)
        assert server.stop() == 0
        outputs = {"stderr": server.errors().encode()}
    outputs["stdout"] = json.dumps(server.lines, ensure_ascii=False).encode()
    for words in (("check", str(file)), ("show", str(file))):
        outputs[words[0]] = CliRunner().invoke(doorkeeper, ("config", *words)).output.encode()
    outputs |= files_of(tmp_path / "data")

    secrets = keys_of(keytab) + [each for ticket in tickets for each in pieces_of(ticket.token)]
    assert refused >= 4
    assert len(server.of("failed authentication")) >= refused
    assert len(secrets) > 20
    assert all(outputs[name] for name in ("stdout", "check", "show"))
    assert leaks(secrets, outputs) == []
