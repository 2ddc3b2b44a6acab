"""Messages of SCRAM that nobody would send."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from doorkeeper.authn.contract import Challenge, Failure
from doorkeeper.authn.credentials import credential_of
from doorkeeper.authn.scram import ScramMechanism, accounts_of
from doorkeeper.authn.scram_messages import Malformed, client_final, client_first
from testkit.fuzzing import fuzz
from testkit.plain import NO_SOURCES
from testkit.scram import ScramClient

if TYPE_CHECKING:
    from collections.abc import Callable

MECHANISM = "SCRAM-SHA-256"
KEPT = credential_of(MECHANISM, "hush", 4096, b"salt")
ACCOUNTS = accounts_of(MECHANISM, NO_SOURCES, {"alice": KEPT}.get)
CLIENT = ScramClient(MECHANISM, "alice", "hush")
SEEDS = (
    CLIENT.first(),
    b"n,a=al=2Cice,m=x,n=al=2Cice,r=a!b,tokenauth=true,x=y=z",
    CLIENT.final(b"r=client-nonceours,s=c2FsdA==,i=4096"),
    b"c=eSws,r=ab,x=y,p=AAAA",
)
MODULES = ("doorkeeper.authn.scram_messages", "doorkeeper.authn.scram")


def messages(data: bytes) -> None:
    """Read bytes as both messages: values that fit what came, or an error that shows none of it."""
    with suppress(Malformed):
        first = client_first(data)
        assert first.name
        assert first.nonce.encode() in data
        assert first.bare.isascii()
    with suppress(Malformed):
        assert client_final(data).nonce.encode() in data


def logins(data: bytes) -> None:
    """Give bytes to the first round, and to the second: nobody gets in without the proof."""
    begun = ScramMechanism(ACCOUNTS, "ours").step(data)
    assert isinstance(begun, Challenge | Failure)
    second = ScramMechanism(ACCOUNTS, "ours")
    assert isinstance(second.step(CLIENT.first()), Challenge)
    proof = b"p=" in data and CLIENT.final(b"r=client-nonceours,s=c2FsdA==,i=4096")
    if not (proof and proof.rpartition(b"p=")[2] in data):
        assert isinstance(second.step(data), Failure)


@pytest.mark.slow
@pytest.mark.parametrize("target", [messages, logins])
def test_any_message_is_read_or_refused(target: Callable[[bytes], None]) -> None:
    """Nothing but Malformed comes out of the parsers, and no login without the proof."""
    fuzz(target, SEEDS, modules=MODULES)
