"""The catalogue of SCRAM: logins in and out of order, right and wrong, byte for byte.

What a server makes up is put aside before the comparison: its part of the nonce, and the proof
over it, which is checked. What differs stands in ``docs/reference/compatibility.md`` and is left
out: names that nobody has, proofs of another length than the digest, several extensions.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from testkit.conversation_cases import bare, cluster, hand, raw, token, topics, versions
from testkit.conversations import Turn, answered
from testkit.sasl_doors import MECHANISMS, SCRAM_USERS
from testkit.scram import ScramClient
from testkit.side_by_side import normal

if TYPE_CHECKING:
    import socket

NONCE = "client-nonce"
AGAIN_S = 1.2
"""A session is not authenticated anew within a second of the last beginning."""

Script = Callable[["Line"], None]


class Over(Exception):
    """The server has ended the connection, or says nothing."""


class Line:
    """One connection; ``seen`` are the answers, without what a server makes up."""

    def __init__(self, peer: socket.socket, *, is_bare: bool) -> None:
        self._peer = peer
        self._bare = is_bare
        self.seen: list[Any] = []

    def say(self, turn: Turn) -> Any:
        """Say something; return the answer as it is."""
        answer = answered(self._peer, turn, send=True)
        self.seen.append(shown(answer))
        if answer in ("closed", "silent"):
            raise Over
        return answer

    def hand(self, mechanism: str) -> None:
        """Choose a mechanism."""
        self.say(hand(mechanism, 0 if self._bare else 1))

    def token(self, data: bytes) -> bytes:
        """Send a token; return the server's."""
        if self._bare:
            return bytes.fromhex(self.say(bare(data)))
        answer: bytes = self.say(token(data))["auth_bytes"]
        return answer

    def login(self, mechanism: str, name: str, word: str | None = None, **more: str) -> None:
        """Log in with SCRAM; the server's last proof is checked."""
        self.hand(mechanism)
        client = ScramClient(mechanism, name, word or SCRAM_USERS.get(name, "x"), **more)
        first = self.token(client.first())
        if not first:
            # It was too early to log in again.
            return
        last = self.token(client.final(first))
        self.seen[-1] = self.seen[-1] if not last else f"a proof: {client.is_server(last)}"


def shown(answer: Any) -> Any:
    """Return an answer without what a server makes up."""
    if isinstance(answer, str):
        try:
            data = bytes.fromhex(answer)
        except ValueError:
            return answer
        return without_what_is_made_up(data) or answer
    if "auth_bytes" in answer:
        data = answer["auth_bytes"]
        return {**answer, "auth_bytes": without_what_is_made_up(data) or data}
    if "mechanisms" in answer:
        # A broker keeps them in a hash table.
        return {**answer, "mechanisms": sorted(answer["mechanisms"])}
    return normal(answer)


def without_nonce(data: bytes) -> str | None:
    """Return a server's first message without its nonce; None for any other."""
    text = data.decode("latin-1")
    if not text.startswith(f"r={NONCE}"):
        return None
    nonce, _, rest = text.partition(",")
    assert len(nonce) > len(NONCE) + 20, "the server adds a nonce of its own"
    return f"r={NONCE}...,{rest}"


def without_what_is_made_up(data: bytes) -> str | None:
    """Return a token of a server without nonce and proof; None for any other."""
    return "v=..." if data.startswith(b"v=") else without_nonce(data)


def play(script: Script, peer: socket.socket, *, is_bare: bool) -> list[Any]:
    """Play a script on a connection; return what came back."""
    line = Line(peer, is_bare=is_bare)
    with peer, suppress(Over):
        script(line)
    return line.seen


FIRSTS = {
    "nothing": b"",
    "no text": b"\xff\xfe",
    "no header": b"n=alice,r=client-nonce",
    "no nonce": b"n,,n=alice",
    "an empty nonce": b"n,,n=alice,r=",
    "no name": b"n,,r=client-nonce",
    "an empty name": b"n,,n=,r=client-nonce",
    "a name that is not escaped": b"n,,n=a=b,r=client-nonce",
    "a name beyond ASCII": "n,,n=\u00e9,r=client-nonce".encode(),
    "channel binding offered": b"y,,n=alice,r=client-nonce",
    "channel binding asked for": b"p=tls-unique,,n=alice,r=client-nonce",
    "a mandatory extension": b"n,,m=x,n=alice,r=client-nonce",
    "its own authzid": b"n,a=alice,n=alice,r=client-nonce",
    "an authzid of another": b"n,a=bob,n=alice,r=client-nonce",
    "an extension": b"n,,n=alice,r=client-nonce,x=y",
    "tokenauth that is not true": b"n,,n=alice,r=client-nonce,tokenauth=false",
    "a line's end": b"n,,n=alice,r=client-nonce\n",
    "a nonce with a space": b"n,,n=alice,r=client nonce",
    "a last message": b"c=biws,r=client-nonce,p=AAAA",
}

FINALS = {
    "nothing": b"",
    "no text": b"\xff\xfe",
    "the nonce alone": b"c=biws,r={nonce}",
    "another nonce": b"c=biws,r=client-nonce,p={proof}",
    "a proof that is no base64": b"c=biws,r={nonce},p=!!!!",
    "another channel binding": b"c=eSws,r={nonce},p={proof}",
    "no channel binding": b"r={nonce},p={proof}",
    "an extension": b"c=biws,r={nonce},x=y,p={proof}",
    "more behind the proof": b"c=biws,r={nonce},p={proof},x=y",
    "the first again": b"n,,n=alice,r=client-nonce",
}

LATERS: dict[str, Turn] = {
    "ApiVersions": versions(),
    "a handshake": hand("PLAIN"),
    "Metadata": topics(),
    "DescribeCluster": cluster(),
    "Metadata of an unknown version": raw(3, 99, b""),
    "text": Turn(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", last=True),
    "too large a size": Turn(struct.pack(">i", 524289)),
    "a negative size": Turn(struct.pack(">i", -1)),
    "an empty frame": Turn(struct.pack(">i", 0)),
}


def right(line: Line, mechanism: str, name: str, **more: str) -> None:
    """Log in and use the connection."""
    line.login(mechanism, name, **more)
    line.say(cluster())
    line.say(topics())


def wrong(line: Line, mechanism: str) -> None:
    """Log in with a wrong password."""
    line.login(mechanism, "alice", "wrong")


def first(line: Line, mechanism: str, data: bytes) -> None:
    """Send an odd first message, then a token more."""
    line.hand(mechanism)
    line.token(data)
    line.token(b"c=biws,r=x,p=AAAA")


def final(line: Line, mechanism: str, form: bytes) -> None:
    """Send an odd final message, then use the connection."""
    line.hand(mechanism)
    client = ScramClient(mechanism, "alice", SCRAM_USERS["alice"])
    answer = line.token(client.first())
    good = client.final(answer)
    nonce, proof = good.split(b",")[1][2:], good.split(b",p=")[1]
    line.token(form.replace(b"{nonce}", nonce).replace(b"{proof}", proof))
    line.say(topics())


def between(line: Line, mechanism: str, turn: Turn) -> None:
    """Say something else between the two tokens."""
    line.hand(mechanism)
    line.token(ScramClient(mechanism, "alice", "alice-secret").first())
    line.say(turn)
    line.say(topics())


def again(line: Line, mechanism: str, name: str, other: str, word: str | None = None) -> None:
    """Log in, and at once again: too early, so that it is a request like others."""
    line.login(mechanism, "alice")
    line.login(other, name, word)
    line.say(cluster())


def later(line: Line, mechanism: str, name: str, other: str, word: str | None = None) -> None:
    """Log in, and again when it is no longer too early."""
    line.login(mechanism, "alice")
    time.sleep(AGAIN_S)
    line.login(other, name, word)
    line.say(cluster())
    line.say(topics())


def scripts() -> Iterator[tuple[str, Script]]:
    """Yield names and scripts, for each mechanism."""
    for mechanism in MECHANISMS:
        for name in SCRAM_USERS:
            yield f"{mechanism}: {name}", partial(right, mechanism=mechanism, name=name)
        own = partial(right, mechanism=mechanism, name="bob", authorization_id="bob")
        yield f"{mechanism}: with an authzid", own
        extended = partial(right, mechanism=mechanism, name="bob", extensions="x=y")
        yield f"{mechanism}: with extensions", extended
        yield f"{mechanism}: wrong password", partial(wrong, mechanism=mechanism)
        for name, data in FIRSTS.items():
            yield f"{mechanism}: first: {name}", partial(first, mechanism=mechanism, data=data)
        for name, form in FINALS.items():
            yield f"{mechanism}: final: {name}", partial(final, mechanism=mechanism, form=form)
        for name, turn in LATERS.items():
            yield f"{mechanism}: between: {name}", partial(between, mechanism=mechanism, turn=turn)
    for (mechanism, other), name in product(product(MECHANISMS, MECHANISMS), ("alice", "bob")):
        yield (
            f"{mechanism}, {other} of {name}",
            partial(again, mechanism=mechanism, name=name, other=other),
        )


def later_scripts() -> Iterator[tuple[str, Script]]:
    """Yield what authenticates a session anew, where it has a limit; elsewhere it is refused."""
    for mechanism, other in product(MECHANISMS, MECHANISMS):
        for name, word in (("alice", None), ("alice", "wrong"), ("bob", None)):
            script = partial(later, mechanism=mechanism, name=name, other=other, word=word)
            yield f"{mechanism}, later {other} of {name}, {word}", script


CATALOGUE: dict[str, Script] = dict((*scripts(), *later_scripts()))
