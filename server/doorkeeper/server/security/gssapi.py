"""SASL GSSAPI (RFC 4752): authentication with a Kerberos ticket.

    client   a ticket for this server's principal
    server   its own proof, if the client asked for mutual authentication
    client   an empty token
    server   the offered security layers: none
    client   the chosen layer, and perhaps an authorization id, which is ignored

The keys are in a keytab that the ``Krb5LoginModule`` of ``sasl.jaas.config`` names. The
authorization id is the full name of the ticket's owner; ``kerberos_rules`` maps it to a user name.

Source: ``SaslServerAuthenticator``, ``SaslServerCallbackHandler``, ``KerberosLogin`` and
``KerberosError`` of kafka-clients 4.3.1; ``GssKrb5Server`` of Java 17.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.config.sasl_keys import SASL_JAAS_CONFIG, SASL_KERBEROS_SERVICE_NAME
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.contract import (
    AuthenticationContext,
    Challenge,
    Failure,
    Step,
    Success,
)
from doorkeeper.server.security.kerberos_setup import (
    acceptor,
    bindings,
    minor_text,
    use_configuration,
)
from doorkeeper.server.security.provider import Provider, Sources
from doorkeeper_wire.java_text import JAVA

LOGIN_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule"

# A step takes half a millisecond of a thread; more threads would only wait for each other.
THREADS: Final = 4
# Kerberos needs one or two tokens before the layer is negotiated; more are no login.
STEPS_MAX: Final = 8
NO_LAYER: Final = 1
# The RFC wants a maximum size of 0 without a layer; Java's servers send 65536.
OFFERED_LAYERS: Final = bytes((NO_LAYER, 1, 0, 0))
_ERRORS_OF_KERBEROS: Final = 2529638912
RETRIABLE: Final = frozenset(_ERRORS_OF_KERBEROS + code for code in (21, 33, 34))
"""Client not yet valid, ticket not yet valid, replay: no response is sent, so clients retry."""


class GssapiProvider(Provider):
    """GSSAPI on one listener."""

    def __init__(self, settings: MechanismSettings, sources: Sources) -> None:
        """Read the configuration; ``start`` reads the files."""
        bindings()
        self._settings = settings
        self._logger = sources.logger
        self._key = settings.full_name(SASL_JAAS_CONFIG)
        self._file, self._principal, self._service = login_of(settings, self._key)
        self._keytab: ReloadedFiles[Any] | None = None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="gssapi")

    async def start(self) -> None:
        """Load the Kerberos configuration and the keytab."""
        use_configuration(self._settings.originals)
        self._keytab = ReloadedFiles(self._acceptor, self._logger, self._file)
        service = self._principal.partition("@")[0].partition("/")[0]
        if service != self._service:
            self._logger.warning(
                "clients will request tickets for a service that is not in the keytab",
                listener=self._settings.listener_name,
                service_name=self._service,
                principal=self._principal,
            )

    async def check(self) -> None:
        # ``start`` only reads files, so a check of the configuration can do the same.
        await self.start()

    def begin(self, context: AuthenticationContext) -> GssapiMechanism:
        assert self._keytab is not None, "a provider is started before it begins"
        gssapi = bindings()
        security = gssapi.SecurityContext(creds=self._keytab.value, usage="accept")
        # Else the first error would be a token for the client; Kafka sends none.
        security.__DEFER_STEP_ERRORS__ = False
        return GssapiMechanism(security, gssapi.exceptions.GSSError, self._threads)

    def refresh(self) -> None:
        """Check a changed keytab.

        New keys are effective without this: the library reads the file at each login.
        """
        assert self._keytab is not None, "a provider is started before it is refreshed"
        self._keytab.refresh()

    async def close(self) -> None:
        # A call in progress cannot be interrupted; waiting for it would block the loop.
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _acceptor(self) -> object:
        try:
            return acceptor(self._file, self._principal)
        except ValueError as error:
            raise ValueError(f"{self._key}: {error}") from None


class GssapiMechanism:
    """One authentication of two to four tokens."""

    __slots__ = ("_errors", "_layers_offered", "_security", "_steps", "_threads")

    def __init__(self, security: Any, errors: type[Exception], threads: Executor) -> None:  # noqa: ANN401
        """Take the library's ``SecurityContext``, and the class of errors that it raises."""
        self._security = security
        self._errors = errors
        self._threads = threads
        self._layers_offered = False
        self._steps = 0

    def step(self, token: bytes) -> Awaitable[Step]:
        """Process a token in a thread: the library reads files and locks its replay cache."""
        return asyncio.get_running_loop().run_in_executor(self._threads, self.decide, token)

    def decide(self, token: bytes) -> Step:
        """Process a token. On any error the client learns only that it is refused."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            return Failure(None, f"more than {STEPS_MAX} tokens")
        try:
            if self._layers_offered:
                return self._accept_layer(token)
            return self._offer_layers(token) if self._security.complete else self._proof(token)
        except self._errors as error:
            return Failure(None, minor_text(error), answered=not is_retriable(error))

    def _proof(self, token: bytes) -> Step:
        # The library may complete without a reply token (no mutual authentication); then the layers
        # follow at once, as no empty token of the client comes between.
        answer = self._security.step(token)
        if self._security.complete and not answer:
            return self._offer_layers(b"")
        return Challenge(answer or b"")

    def _offer_layers(self, token: bytes) -> Step:
        if token:
            return Failure(None, "found a token after the authentication; expected: an empty one")
        self._layers_offered = True
        return Challenge(self._security.wrap(OFFERED_LAYERS, False).message)

    def _accept_layer(self, token: bytes) -> Step:
        chosen = self._security.unwrap(token).message
        if len(chosen) < len(OFFERED_LAYERS):
            return Failure(None, f"found {len(chosen)} bytes for the security layer; expected: 4")
        if not chosen[0] & NO_LAYER:
            return Failure(None, f"the security layer {chosen[0]} is not offered")
        return Success(full_name(bytes(self._security.initiator_name)))


def is_retriable(error: Exception) -> bool:
    """Return whether the same client may succeed a moment later."""
    return getattr(error, "min_code", 0) in RETRIABLE


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    return GssapiProvider(settings, sources)


def login_of(settings: MechanismSettings, key: str) -> tuple[Path, str, str]:
    """Return the keytab, the principal, and the service for which clients request tickets.

    Options of the login module without an effect here are ignored.
    """
    module = settings.login_module
    if module is None or module.name != LOGIN_MODULE:
        module_name = "none" if module is None else module.name
        raise ValueError(
            f"{key}: found the login module {module_name}; GSSAPI requires {LOGIN_MODULE}"
        )
    options = module.options
    if options.get("useKeyTab", "false").lower() != "true":
        raise ValueError(
            f"{key}: useKeyTab=true is required: a server reads its keys from a keytab"
        )
    for option in ("keyTab", "principal"):
        if not options.get(option):
            raise ValueError(f"{key}: the option {option} is required")
    keytab = Path(options["keyTab"].removeprefix("FILE:"))
    principal = options["principal"]
    if principal == "*":
        raise ValueError(f"{key}: principal * is not supported; give the server's principal")
    return keytab, principal, _service_of(settings, options.get("serviceName"))


def _service_of(settings: MechanismSettings, in_jaas: str | None) -> str:
    service_name = settings[SASL_KERBEROS_SERVICE_NAME]
    key = settings.full_name(SASL_KERBEROS_SERVICE_NAME)
    if in_jaas and service_name and in_jaas != service_name:
        raise ValueError(
            f"{key}: Conflicting serviceName values found in JAAS and Kafka configs:"
            f" {in_jaas} and {service_name}"
        )
    service = in_jaas or service_name
    if not service:
        raise ValueError(f"{key}: No serviceName defined in either JAAS or Kafka config")
    return service


_QUOTED: Final = re.compile(r"\\(.)", re.DOTALL)
_UNQUOTED: Final = {"n": "\n", "t": "\t", "b": "\b", "0": "\0", "@": "\\@"}


def full_name(displayed: bytes) -> str:
    """Return a principal's name as Java writes it, from MIT's display form.

    MIT puts a backslash before each special character within a component; Java does so only for an
    @.
    """
    return _QUOTED.sub(
        lambda quoted: _UNQUOTED.get(quoted[1], quoted[1]), displayed.decode("utf-8", JAVA)
    )
