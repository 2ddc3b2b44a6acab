"""SASL GSSAPI (RFC 4752): a Kerberos ticket proves who the client is.

    client   a ticket for this server's principal
    server   its own proof, where the client asked for one
    client   an empty token
    server   the layers of protection that it offers: none
    client   the layer that it takes, and perhaps a name, which is not used

The keys are in a keytab that the ``Krb5LoginModule`` of ``sasl.jaas.config`` names. Who the client
is, is the whole name of the ticket's owner; ``kerberos_rules`` makes a user's name of it.

Source: ``SaslServerAuthenticator``, ``SaslServerCallbackHandler``, ``KerberosLogin`` and
``KerberosError`` of kafka-clients 4.3.1; ``GssKrb5Server`` of Java 17.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doorkeeper.authn.contract import Challenge, Failure, Step, Success
from doorkeeper.authn.kerberos_setup import acceptor, bindings, minor_text, use_configuration
from doorkeeper.authn.provider import Provider
from doorkeeper_wire.java_text import JAVA

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from doorkeeper.authn.contract import AuthenticationContext
    from doorkeeper.authn.provider import MechanismSettings, Sources

LOGIN_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule"
SERVICE_KEY: Final = "sasl.kerberos.service.name"

THREADS: Final = 4
"""A step takes half a millisecond of a thread; more threads would only wait for each other."""

STEPS_MAX: Final = 8
"""Kerberos needs one step of proof, or two; a client that wants more wants something else."""

NO_LAYER: Final = 1
OFFERED_LAYERS: Final = bytes((NO_LAYER, 1, 0, 0))
"""No layer of protection. The RFC wants a size of 0 with it; Java's servers send 65536."""

_ERRORS_OF_KERBEROS: Final = 2529638912
RETRIABLE: Final = frozenset(_ERRORS_OF_KERBEROS + code for code in (21, 33, 34))
"""Client not yet valid, ticket not yet valid, replay: Kafka only closes, and clients try again."""


class KerberosLogin(NamedTuple):
    """What the login module says; ``service`` is the name that clients ask tickets for."""

    keytab: Path
    principal: str
    service: str


class GssapiProvider(Provider):
    """GSSAPI on one listener."""

    def __init__(self, settings: MechanismSettings, sources: Sources) -> None:
        """Read what is configured; files are read by ``start``.

        Raises:
            ValueError: something is missing or wrong; the text begins with the key.

        """
        bindings()
        self._originals = settings.originals
        self._logger = sources.logger
        self._listener_name = settings.listener_name
        self._key = settings.given_as.get("sasl.jaas.config", "sasl.jaas.config")
        self._login = login_of(settings, self._key)
        self._credentials: Any = None
        self._seen: tuple[int, int, int] | None = None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="gssapi")

    async def start(self) -> None:
        """Find the configuration of Kerberos, and the keys.

        Raises:
            ValueError: one is missing or unreadable; the text begins with the key.

        """
        use_configuration(self._originals)
        self._seen = self._stamp()
        try:
            self._credentials = acceptor(self._login.keytab, self._login.principal)
        except ValueError as error:
            raise ValueError(f"{self._key}: {error}") from None
        service = self._login.principal.partition("@")[0].partition("/")[0]
        if service != self._login.service:
            self._logger.warning(
                "clients will ask tickets for another service than the keytab's",
                listener=self._listener_name,
                service_name=self._login.service,
                principal=self._login.principal,
            )

    async def check(self) -> None:
        """Find them: a start does no more."""
        await self.start()

    def begin(self, context: AuthenticationContext) -> Gssapi:  # noqa: ARG002  all are alike
        """Return a mechanism for one authentication."""
        assert self._credentials is not None, "a provider is started before it begins"
        gssapi = bindings()
        security = gssapi.SecurityContext(creds=self._credentials, usage="accept")
        # Else the first error would be a token for the client; Kafka sends none.
        security.__DEFER_STEP_ERRORS__ = False
        return Gssapi(security, gssapi.exceptions.GSSError, self._threads)

    def refresh(self) -> Sequence[str]:
        """Say what is wrong with a keytab that has changed.

        Its keys count without this: the library looks into the file at each login.
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return ()
        self._seen = stamp
        try:
            self._credentials = acceptor(self._login.keytab, self._login.principal)
        except ValueError as error:
            return (f"{self._key}: {error}",)
        self._logger.info("keytab read anew", keytab=str(self._login.keytab))
        return ()

    async def close(self) -> None:
        """End the threads; steps under way end first."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self._login.keytab.stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size, found.st_ino)


class Gssapi:
    """One authentication."""

    __slots__ = ("_errors", "_security", "_steps", "_threads", "_told_layers")

    def __init__(self, security: Any, errors: type[Exception], threads: Executor) -> None:  # noqa: ANN401  the binding's
        """Begin with a security context of the library, and the errors that it raises."""
        self._security = security
        self._errors = errors
        self._threads = threads
        self._told_layers = False
        self._steps = 0

    def step(self, token: bytes) -> Awaitable[Step]:
        """Take a token, in a thread: the library reads files, and waits for their locks."""
        return asyncio.get_running_loop().run_in_executor(self._threads, self.decide, token)

    def decide(self, token: bytes) -> Step:
        """Take a token. Whatever it contains, the client learns only that it is refused."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            return Failure(None, f"more than {STEPS_MAX} tokens")
        try:
            if self._told_layers:
                return self._layer_chosen(token)
            return self._established(token) if self._security.complete else self._proof(token)
        except self._errors as error:
            return Failure(None, minor_text(error), answered=not is_retriable(error))

    def _proof(self, token: bytes) -> Step:
        answer = self._security.step(token)
        if self._security.complete and not answer:
            return self._established(b"")
        return Challenge(answer or b"")

    def _established(self, token: bytes) -> Step:
        if token:
            return Failure(None, "a token is empty where the client has proved who it is")
        self._told_layers = True
        return Challenge(self._security.wrap(OFFERED_LAYERS, False).message)

    def _layer_chosen(self, token: bytes) -> Step:
        chosen = self._security.unwrap(token).message
        if len(chosen) < len(OFFERED_LAYERS):
            return Failure(None, f"{len(chosen)} bytes choose a layer of protection; 4 are needed")
        if not chosen[0] & NO_LAYER:
            return Failure(None, f"the layer of protection {chosen[0]} is not offered")
        return Success(full_name(bytes(self._security.initiator_name)))


def is_retriable(error: Exception) -> bool:
    """Say whether the same client may succeed a moment later."""
    return getattr(error, "min_code", 0) in RETRIABLE


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return GSSAPI on a listener."""
    return GssapiProvider(settings, sources)


def login_of(settings: MechanismSettings, key: str) -> KerberosLogin:
    """Return what the login module says; options without an effect here are not looked at.

    Raises:
        ValueError: it is another module, or lacks what an acceptor needs.

    """
    module = settings.login_module
    if module is None or module.name != LOGIN_MODULE:
        found = "none" if module is None else module.name
        raise ValueError(f"{key}: found the login module {found}; GSSAPI needs {LOGIN_MODULE}")
    options = module.options
    if options.get("useKeyTab", "false").lower() != "true":
        raise ValueError(f"{key}: useKeyTab=true is needed: a server's keys come from a keytab")
    for option in ("keyTab", "principal"):
        if not options.get(option):
            raise ValueError(f"{key}: the option {option} is needed")
    keytab = Path(options["keyTab"].removeprefix("FILE:"))
    principal = options["principal"]
    if principal == "*":
        raise ValueError(f"{key}: principal * is no name; give the server's own principal")
    return KerberosLogin(keytab, principal, _service_of(settings, options.get("serviceName")))


def _service_of(settings: MechanismSettings, in_jaas: str | None) -> str:
    given = settings.values.get(SERVICE_KEY)
    key = settings.given_as.get(SERVICE_KEY, SERVICE_KEY)
    if in_jaas and given and in_jaas != given:
        raise ValueError(
            f"{key}: Conflicting serviceName values found in JAAS and Kafka configs:"
            f" {in_jaas} and {given}"
        )
    service = in_jaas or given
    if not service:
        raise ValueError(f"{key}: No serviceName defined in either JAAS or Kafka config")
    return service


_CONTROLS: Final = {"n": "\n", "t": "\t", "b": "\b", "0": "\0"}


def full_name(displayed: bytes) -> str:
    """Return a principal's name as Java writes it, from MIT's form.

    MIT puts a backslash before each sign that is a part of a name and not its syntax; Java does
    so only for an @ within a component.
    """
    text = displayed.decode("utf-8", JAVA)
    made: list[str] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\" and at + 1 < len(text):
            at += 1
            character = text[at]
            character = "\\@" if character == "@" else _CONTROLS.get(character, character)
        made.append(character)
        at += 1
    return "".join(made)
