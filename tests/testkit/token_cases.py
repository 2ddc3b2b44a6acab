"""What two servers are asked about delegation tokens, and their answers in words of the test.

A token has a name here, which stands for the id and the HMAC that each server gave it. Times are
hours: since the token was made, or from the moment of asking.
"""

import random
import time
from base64 import b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple

from doorkeeper_wire.messages import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from testkit.frames import Closed, FrameClient, fields
from testkit.kafka_target import USERS, Target
from testkit.load import scaled
from testkit.scram import scram_login

HOUR_MS = 3_600_000
REACHED_S = 60
TOKEN = "with a token"
"""The caller who has logged in with the first token."""

Principals = Sequence[str] | None


class Ask(NamedTuple):
    """One request. ``caller`` None asks on the listener without authentication.

    Principals are texts, with ``None`` for a null type before the colon. ``token`` is a name.
    """

    api: str
    caller: str | None
    version: int
    owner: str | None = None
    principals: Principals = ()
    hours: int = -1
    token: str = ""


class TokenSide:
    """One of the two servers."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._clients: dict[str | None, FrameClient] = {}
        self._names: dict[Any, str] = {"": "", b"": ""}
        self._hmacs: dict[str, bytes] = {}
        self._ids: dict[str, str] = {}

    def ask(self, wish: Ask) -> Any:
        """Send a request; return its answer in words; after a change wait until it is in force."""
        request, response = self._request(wish)
        client = self._clients.get(wish.caller) or self._connect(wish.caller)
        before_ms = time.time() * 1000  # noqa: TID251 - both servers look at this clock
        answer = client.ask(request, response, wish.version)
        if isinstance(answer, Closed):
            self._clients.pop(wish.caller).close()
            return "closed"
        if wish.api == "create" and not answer.error_code:
            self._learn(wish.token, answer.token_id, answer.hmac)
        if wish.api != "describe" and not answer.error_code:
            self._settle(wish, answer)
        return self._shown(fields(answer), before_ms)

    def login(self, token: str, mechanism: str) -> tuple[FrameClient, Any]:
        """Log in with a token; return the connection and the last answer."""
        client = FrameClient(self.target.sasl)
        done = scram_login(
            client, mechanism, self.id_of(token), self.word_of(token), "tokenauth=true"
        )
        return client, done

    def id_of(self, token: str) -> str:
        """Return the id that the server gave to a token."""
        return self._ids[token]

    def word_of(self, token: str) -> str:
        """Return the password of a token."""
        return b64encode(self._hmacs[token]).decode()

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()

    def _connect(self, caller: str | None) -> FrameClient:
        if caller == TOKEN:
            client, answer = self.login("first", "SCRAM-SHA-256")
            assert answer.error_code == 0
        else:
            client = FrameClient(self.target.plain if caller is None else self.target.sasl)
            if caller is not None:
                client.login(caller, USERS[caller])
        self._clients[caller] = client
        return client

    def _learn(self, name: str, token_id: str, hmac: bytes) -> None:
        self._names[token_id] = f"<id of {name}>"
        self._names[hmac] = f"<hmac of {name}>"
        self._hmacs[name] = hmac
        self._ids[name] = token_id

    def _request(self, wish: Ask) -> tuple[Any, Any]:
        if wish.api == "describe":
            kind: Any = describe_delegation_token
            owners = None
            if wish.principals is not None:
                owners = tuple(
                    kind.DescribeDelegationTokenOwner(**_principal(each))
                    for each in wish.principals
                )
            request = kind.DescribeDelegationTokenRequest(owners=owners)
            return request, kind.DescribeDelegationTokenResponse
        period = wish.hours * HOUR_MS if wish.hours > 0 else wish.hours
        if wish.api == "create":
            kind = create_delegation_token
            owner = _principal(wish.owner or ":", "owner_") if wish.version >= 3 else {}
            request = kind.CreateDelegationTokenRequest(
                renewers=tuple(
                    kind.CreatableRenewers(**_principal(each)) for each in wish.principals or ()
                ),
                max_lifetime_ms=period,
                **owner,
            )
            return request, kind.CreateDelegationTokenResponse
        hmac = self._hmacs.get(wish.token, wish.token.encode())
        if wish.api == "renew":
            kind = renew_delegation_token
            request = kind.RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period)
            return request, kind.RenewDelegationTokenResponse
        kind = expire_delegation_token
        request = kind.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period)
        return request, kind.ExpireDelegationTokenResponse

    def _settle(self, wish: Ask, answer: Any) -> None:
        """A broker shows a change of tokens a little later."""
        hmac = self._hmacs[wish.token]
        gone = wish.api == "expire" and wish.hours < 0
        deadline = time.monotonic() + scaled(REACHED_S)
        while time.monotonic() < deadline:
            ends = [each.expiry_timestamp for each in self._all() if each.hmac == hmac]
            if ends == ([] if gone else [answer.expiry_timestamp_ms]):
                return
            if wish.api == "expire" and not wish.hours and not ends:
                return  # It was swept away already.
        raise AssertionError("the server did not reach the state that the scenario needs")

    def _all(self) -> Any:
        request, response = self._request(Ask("describe", "admin", 3, principals=None))
        client = self._clients.get("admin") or self._connect("admin")
        return client.ask(request, response, 3).tokens

    def _shown(self, value: Any, now_ms: float) -> Any:
        if isinstance(value, dict):
            issued = value.get("issue_timestamp") or value.get("issue_timestamp_ms") or 0
            return {
                key: _hours(part, issued if issued > 0 else now_ms)
                if "timestamp" in key
                else self._names.get(part, "<of another>")
                if key in ("token_id", "hmac")
                else self._shown(part, now_ms)
                for key, part in value.items()
            }
        if isinstance(value, list):
            return sorted((self._shown(each, now_ms) for each in value), key=repr)
        return value


def _hours(time_ms: int, base_ms: float) -> Any:
    """Return how many hours a time is after another, to the minute; 0 and -1 as they are."""
    return time_ms if time_ms <= 0 else f"{round((time_ms - base_ms) / 60_000) / 60:g} h"


def _principal(text: str, prefix: str = "") -> dict[str, str | None]:
    kind, _, name = text.partition(":")
    return {
        f"{prefix}principal_type": None if kind == "None" else kind,
        f"{prefix}principal_name": None if name == "None" else name,
    }


CALLERS = ("alice", "bob", "admin")
OTHERS = (None, TOKEN)
OWNERS = ("User:alice", "User:bob", "User:admin", "User:zoe", "Group:alice")

FIRST = Ask("create", "alice", 3, None, ("User:bob",), 2, "first")

CHANGES = (
    Ask("create", TOKEN, 3, token="by a token"),
    Ask("create", "admin", 3, "User:alice", ("User:bob",), 10_000, "for another"),
    Ask("describe", TOKEN, 3, principals=None),
    *(
        Ask(api, caller, 2, hours=hours, token=token)
        for api in ("renew", "expire")
        for caller in (*CALLERS, *OTHERS)
        for token, hours in (("first", 1), ("first", 100), ("unknown", 1), ("", 1))
    ),
    Ask("renew", "bob", 2, hours=-1, token="first"),
    Ask("expire", "alice", 2, hours=0, token="first"),
    *(
        Ask(api, caller, 2, hours=hours, token="first")
        for api in ("renew", "expire")
        for caller in ("alice", "admin")
        for hours in (0, 1)
    ),
    Ask("describe", "alice", 3, principals=None),
    Ask("expire", "admin", 2, hours=-1, token="first"),
    Ask("expire", "alice", 2, hours=-1, token="first"),
    Ask("expire", "alice", 2, hours=-1, token="first"),
    Ask("renew", "alice", 2, hours=-1, token="first"),
)


def random_asks(seed: int, count: int) -> list[Ask]:
    """Return requests of chance, over tokens that earlier ones made."""
    chance = random.Random(seed)
    made = ["unknown"]
    asks = []
    for number in range(count):
        api = chance.choice(("create", "create", "renew", "expire", "describe", "describe"))
        highest = 3 if api in ("create", "describe") else 2
        token = chance.choice(made)
        if api == "create":
            token = f"{seed}-{number}"
            made.append(token)
        hours = chance.choice((-1, 0, 1, 3, 48, 1_000_000)) if api != "expire" else None
        asks.append(
            Ask(
                api,
                chance.choice((*CALLERS, *CALLERS, None)),
                chance.randint(1, highest),
                chance.choice((None, None, *OWNERS)),
                _some(chance, api),
                chance.choice((-1, 0, 1, 30, 500)) if hours is None else hours,
                token,
            )
        )
    return asks


def _some(chance: random.Random, api: str) -> Principals:
    if api == "describe" and chance.random() < 0.3:
        return None
    names = OWNERS if chance.random() < 0.2 else OWNERS[:-1]
    return tuple(chance.choice(names) for _ in range(chance.randint(0, 3)))
