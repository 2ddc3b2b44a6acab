"""Callback handlers and principal builders as others might write them, good and bad."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

from doorkeeper.plugins import (
    AuthenticationContext,
    CallbackHandler,
    DefaultPrincipalBuilder,
    PlainPasswords,
    Principal,
    ScramCredential,
    ScramCredentials,
    TokenRefused,
    TokenValidator,
    ValidatedToken,
    credential_of,
)
from testkit.tokens import NOW_MS


class Recorded(PlainPasswords):
    """Lets in whose password is the name twice, and keeps what it is given."""

    def configure(
        self, configs: Mapping[str, str], mechanism: str, options: Mapping[str, str]
    ) -> None:
        self.configs, self.mechanism, self.options = configs, mechanism, options
        self.asked: list[str] = []
        self.events: list[str] = []
        if configs.get("twice.refuse"):
            raise ValueError("twice.refuse: found something;\nallowed: nothing")
        if configs.get("twice.break"):
            raise RuntimeError("broken")

    async def start(self) -> None:
        self.events.append("start")
        if self.configs.get("twice.stay"):
            raise ConnectionError("nobody there")
        if self.configs.get("twice.wait"):
            await asyncio.Event().wait()

    async def check(self, name: str, password: str, context: AuthenticationContext) -> bool:
        self.asked.append(f"{name}@{context.client_address}")
        await asyncio.sleep(0)
        if name == "raise":
            raise ConnectionError(f"no connection for {name}")
        if name == "tell":
            raise ValueError(f"what a password: {password}")
        if name == "exit":
            raise SystemExit(3)
        if name == "none":
            return None  # type: ignore[return-value]
        if name == "slow":
            await asyncio.Event().wait()
        return password == name * 2

    async def close(self) -> None:
        self.events.append("close")
        if self.configs.get("twice.cling"):
            raise RuntimeError("not yet")


class Directory(ScramCredentials):
    """Knows alice."""

    async def credential(
        self, mechanism: str, name: str, context: AuthenticationContext
    ) -> ScramCredential | None:
        if name == "raise":
            raise ConnectionError("nobody there")
        if name == "text":
            return "alice-secret"  # type: ignore[return-value]
        if name == "slow":
            await asyncio.Event().wait()
        if name == "keys":
            return ScramCredential(b"salt", "stored", "server", 4096)  # type: ignore[arg-type]
        if name == "empty":
            return ScramCredential(b"salt", b"", b"", 4096)
        if name == "rounds":
            return ScramCredential(b"salt", bytes(32), bytes(32), True)
        if name != "alice":
            return None
        return credential_of(mechanism, "alice-secret", 8192, b"salt of alice")


ODD_TOKENS = {
    "nobody": ValidatedToken(None, NOW_MS + 60_000),  # type: ignore[arg-type]
    "blank": ValidatedToken("", NOW_MS + 60_000),
    "surrogate": ValidatedToken("\ud800", NOW_MS + 60_000),
    "bytes": ValidatedToken(b"alice", NOW_MS + 60_000),  # type: ignore[arg-type]
    "forever": ValidatedToken("alice", float("inf")),  # type: ignore[arg-type]
    "never": ValidatedToken("alice", None),  # type: ignore[arg-type]
    "claimless": ValidatedToken("alice", NOW_MS + 60_000, None),  # type: ignore[arg-type]
}
"""What a validator may give that is no token of anybody."""


class Tickets(TokenValidator):
    """Takes tokens of its own kind."""

    async def validate(self, token: str, context: AuthenticationContext) -> ValidatedToken:
        if token == "break":
            raise ConnectionError("the office is closed")
        if token in ODD_TOKENS:
            return ODD_TOKENS[token]
        kind, _, name = token.partition("-")
        if kind != "ticket":
            raise TokenRefused("no ticket", status="insufficient_scope", scope="tickets")
        return ValidatedToken(name, NOW_MS + 60_000, {"from": context.listener_name})


class Hanging(PlainPasswords):
    """Asks a directory that never answers, in a thread, as handlers should."""

    async def check(self, name: str, password: str, context: AuthenticationContext) -> bool:
        return await asyncio.to_thread(threading.Event().wait)


class Half(PlainPasswords):
    """Lacks what it must have."""


class NoPasswords(CallbackHandler):
    """Knows nothing."""


class Roles:
    """Gives roles: the claim of a token, or what the configuration says."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self.role = configs.get("roles.default", "nobody")
        if self.role == "bad":
            raise ValueError("roles.default: found bad; allowed: good ones")
        if self.role == "worse":
            raise RuntimeError("worse")

    def build(self, context: AuthenticationContext) -> Principal:
        return Principal("Role", str(context.claims.get("role", self.role)))


class Faulty:
    """Gives what the name of the user says."""

    def build(self, context: AuthenticationContext) -> object:
        if context.authorization_id == "exit":
            raise SystemExit(1)
        if context.authorization_id == "raise":
            raise LookupError("nobody\nknows")
        found: dict[str | None, object] = {
            "none": None,
            "text": "User:alice",
            "empty": Principal("", "alice"),
            "number": Principal("User", 7),  # type: ignore[arg-type]
            "surrogate": Principal("User", "\ud800"),
        }
        return found[context.authorization_id]


class Upper(DefaultPrincipalBuilder):
    """Kafka's principals, louder."""

    def build(self, context: AuthenticationContext) -> Principal:
        principal = super().build(context)
        return Principal(principal.principal_type, principal.name.upper())


not_a_class = 7
