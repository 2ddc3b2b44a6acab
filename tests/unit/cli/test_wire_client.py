"""A connection for one command, against servers that do not do what they should."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.command_config import CommandConfig, Login
from doorkeeper.cli.wire_client import ScramLogin, WireClient, WireError, refusal
from doorkeeper_wire.headers import RequestHeader, decode_request_header, encode_response
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper_wire.message import Message

PLAIN = Login("PLAIN", "alice", "alice-secret")
SCRAM = Login("SCRAM-SHA-256", "a=,b", "pencil")
HELLO = SaslHandshakeResponse(mechanisms=("PLAIN",))


class Served:
    """A server that gives the next of some answers to whatever it is asked."""

    def __init__(self, answers: tuple[Message | bytes, ...]) -> None:
        self._listener = socket.create_server(("localhost", 0))
        self._listener.settimeout(10)
        self.address = f"localhost:{self._listener.getsockname()[1]}"
        self.bodies: list[tuple[int, bytes]] = []
        self._answers = answers
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        taken, _ = self._listener.accept()
        # The client may leave at any moment.
        with suppress(ConnectionError), taken, taken.makefile("rb") as frames:
            for answer in self._answers:
                head = frames.read(4)
                if not head:
                    return
                frame = frames.read(*struct.unpack(">i", head))
                header, at = decode_request_header(frame)
                self.bodies.append((header.api_key, frame[at:]))
                taken.sendall(_encoded(answer, header))

    def close(self) -> None:
        self._thread.join()
        self._listener.close()


def _encoded(answer: Message | bytes, header: RequestHeader) -> bytes:
    if isinstance(answer, bytes):
        return answer
    body = answer.encode(header.api_version)
    return encode_response(header.api_key, header.api_version, header.correlation_id, body)


@contextmanager
def serving(*answers: Message | bytes) -> Iterator[Served]:
    served = Served(answers)
    try:
        yield served
    finally:
        served.close()


def step(token: bytes = b"", **error: object) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(auth_bytes=token, **error)  # type: ignore[arg-type]


def test_plain_is_one_token() -> None:
    """An empty authorization id, the name and the password."""
    with (
        serving(HELLO, step()) as served,
        WireClient.connect(served.address, CommandConfig(PLAIN)),
    ):
        pass

    (_, handshake), (_, token) = served.bodies
    assert SaslHandshakeRequest.decode(handshake, 0, 1)[0].mechanism == "PLAIN"
    sent = SaslAuthenticateRequest.decode(token, 0, 1)[0].auth_bytes
    assert sent == b"\0alice\0alice-secret"


def test_the_next_address_is_tried() -> None:
    """The first that answers serves; what went wrong before it is nobody's concern."""
    with (
        serving() as served,
        WireClient.connect(f"localhost:1, {served.address}", CommandConfig()),
    ):
        pass


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ((b"",), "the server closed the connection"),
        ((b"HTTP/1.1 400 Bad Request\r\n\r\n",), "this is no Kafka server"),
        ((struct.pack(">i", -1),), "this is no Kafka server"),
        ((struct.pack(">ii", 4, 99),), "found the answer to another request"),
        ((struct.pack(">iib", 5, 1, 0),), "an answer is malformed: "),
        (
            (SaslHandshakeResponse(error_code=33, mechanisms=("GSSAPI", "OAUTHBEARER")),),
            "PLAIN is not offered; there are: GSSAPI, OAUTHBEARER",
        ),
        ((HELLO, step(error_code=58, error_message="go away")), "SASL_AUTHENTICATION_FAILED: go"),
    ],
)
def test_what_goes_wrong_is_one_line(answers: tuple[Message | bytes, ...], text: str) -> None:
    """It names the address, and never the password."""
    with serving(*answers) as served, pytest.raises(WireError) as raised:
        WireClient.connect(served.address, CommandConfig(PLAIN))

    assert str(raised.value).startswith(f"{served.address}: {text}")
    assert "alice-secret" not in str(raised.value)


@pytest.mark.parametrize(
    "first",
    [b"", b"\xff", b"r=other,s=AAAA,i=4096", b"r=,s=AAAA", b"e=other-error", b"i=x,r=,s="],
)
def test_a_server_that_speaks_no_scram_is_told(first: bytes) -> None:
    """Whatever it sends, there is no traceback."""
    with (
        serving(HELLO, step(first)) as served,
        pytest.raises(WireError, match="the server speaks no SCRAM-SHA-256"),
    ):
        WireClient.connect(served.address, CommandConfig(SCRAM))


def test_scram_is_that_of_the_rfc() -> None:
    """The example of RFC 7677, from first to last message."""
    login = ScramLogin(Login("SCRAM-SHA-256", "user", "pencil"), "rOprNGfwEbeRWgbNEkqO")
    server = (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )

    assert login.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert login.final(server) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert login.proves(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert not login.proves(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=")


def test_names_and_tokens_are_written_as_kafka_reads_them() -> None:
    """A comma and an equals sign are escaped; a delegation token says that it is one."""
    assert ScramLogin(SCRAM, "n").first() == b"n,,n=a=3D=2Cb,r=n"
    token = Login("SCRAM-SHA-256", "id", "hmac", by_token=True)
    assert ScramLogin(token, "n").first() == b"n,,n=id,r=n,tokenauth=true"


def test_a_server_cannot_make_the_client_work_for_ever() -> None:
    """More iterations than Kafka allows are refused before any is done."""
    login = ScramLogin(SCRAM, "n")

    with pytest.raises(ValueError, match="the server's first message"):
        login.final(b"r=nn,s=AAAA,i=1000000000")


def test_codes_are_told_by_name() -> None:
    """With the server's text, the stock text, or neither; an unknown code is a number."""
    assert refusal(31, None) == "CLUSTER_AUTHORIZATION_FAILED: Cluster authorization failed."
    assert refusal(91, "not there") == "RESOURCE_NOT_FOUND: not there"
    assert refusal(91, None) == "RESOURCE_NOT_FOUND: no text"
    assert refusal(999, None) == "error 999: no text"
