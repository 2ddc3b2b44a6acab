"""The common interface of test servers, in the test's process or in their own."""

from __future__ import annotations

import tempfile
import warnings
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from doorkeeper.acls.explanation import explanation
from doorkeeper.acls.model import ANY_BINDING, exactly
from doorkeeper.testing.acl_options import bindings_of
from doorkeeper.testing.answers import Answer, question_of
from doorkeeper.testing.clients import ClientSettings
from doorkeeper.testing.configuration import ADMIN, LISTENERS, configuration_of, keys_of
from doorkeeper.testing.logins import WithoutEffect, strangers_of, warn_of_stranger

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Unpack

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.explanation import Explanation
    from doorkeeper.acls.model import AclBinding, AclBindingFilter, AclOperation
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.testing.certificates import Authority, Certificate
    from doorkeeper.testing.faults import FaultControl
    from doorkeeper.testing.options import Acls, Options, ResourceOption

NOT_RUNNING: Final = "the server is not running: use it in a with statement, or call start()"


class AnyServer(ABC):
    """A server for tests: its addresses, clients, decisions and ACLs."""

    def __init__(self, **options: Unpack[Options]) -> None:
        """Set the options; ``with``, or ``start``, starts the server.

        Raises:
            ValueError: the value of an option is invalid.
            TypeError: an option is unknown.
        """
        self.configuration = configuration_of(options)
        """The options with their defaults."""
        for text in strangers_of(self.configuration):
            warnings.warn(text, WithoutEffect, stacklevel=3)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._authority: Authority | None = None
        self._addresses: dict[str, str] = {}

    def __repr__(self) -> str:
        where = ", ".join(f"{name} {address}" for name, address in self._addresses.items())
        return f"<{type(self).__name__} {where or 'stopped'}>"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @abstractmethod
    def start(self) -> None:
        """Start; return when clients can connect.

        Raises:
            ConfigError: keys of ``properties`` are wrong.
            StartError: it does not start.
        """

    @abstractmethod
    def stop(self) -> None:
        """Stop; ``start`` may follow, with a new state. May be called twice."""

    def reset(self) -> None:
        """Restart with the initial state, without the clients' changes and connections.

        The ports change.
        """
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop, and delete all files. May be called twice."""
        self.stop()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def is_running(self) -> bool:
        """Return whether clients can connect."""
        return bool(self._addresses)

    @property
    @abstractmethod
    def faults(self) -> FaultControl:
        """Return the fault injection of the server.

        Raises:
            RuntimeError: the server does not run.
        """

    # --- where it is, and how to get in

    @property
    def bootstrap_servers(self) -> str:
        """Return ``host:port`` of the first listener."""
        return self.address()

    def address(self, listener: str | None = None) -> str:
        """Return ``host:port`` of a listener, by default of the first.

        Raises:
            ValueError: there is no such listener.
        """
        return self._addresses[self._listener(listener)]

    def client_config(
        self,
        user: str | None = None,
        *,
        listener: str | None = None,
        mechanism: str | None = None,
    ) -> ClientSettings:
        """Return the connection settings of a user, by default the administrator.

        With MTLS any name is valid: a certificate is created for it, and its principal is
        ``User:CN=name``.

        Raises:
            ValueError: the listener, mechanism or user is unknown, or the listener has no users.
        """
        name = self._listener(listener)
        protocol, config = LISTENERS[name], self.configuration
        settings = partial(
            ClientSettings,
            bootstrap_servers=self.address(name),
            security_protocol=protocol,
            ca_file=self.ca_file if protocol.endswith("SSL") else None,
        )
        if name == "MTLS":
            user = user or ADMIN
            return settings(user=user, certificate=self.client_certificate(user))
        if not protocol.startswith("SASL"):
            if user is not None:
                raise ValueError(f"user {user!r}: all clients are User:ANONYMOUS on {name}")
            return settings()
        user = user or ADMIN
        if user not in config.users:
            raise ValueError(f"user: found {user!r}; allowed: {', '.join(config.users)}")
        mechanism = mechanism or config.mechanisms[0]
        if mechanism not in config.mechanisms:
            allowed = ", ".join(config.mechanisms)
            raise ValueError(f"mechanism: found {mechanism!r}; allowed: {allowed}")
        return settings(mechanism=mechanism, user=user, password=config.users[user])

    @property
    def ca_file(self) -> Path:
        return self._signer().file

    def client_certificate(self, name: str) -> Certificate:
        """Return a certificate whose principal is ``User:CN=name``, created on first use."""
        return self._signer().client(name)

    # --- what it decides

    def allows(
        self, principal: str, operation: str | AclOperation, **resource: Unpack[ResourceOption]
    ) -> Answer:
        """Return whether an operation is allowed: ``allows("User:a", "READ", topic="t")``.

        The result is the authorizer's present decision. In a failed assertion pytest shows its
        reason.
        """
        self._warn_of_stranger(principal)
        return self._answer(principal, operation, resource, expected=True)

    def denies(
        self, principal: str, operation: str | AclOperation, **resource: Unpack[ResourceOption]
    ) -> Answer:
        """Return whether an operation is denied; see ``allows``."""
        self._warn_of_stranger(principal)
        return self._answer(principal, operation, resource, expected=False)

    def explain(
        self, principal: str, operation: str | AclOperation, **resource: Unpack[ResourceOption]
    ) -> Explanation:
        """Return the decision, the bindings with a bearing on it, and changes that reverse it.

        Raises:
            TypeError: another authorizer than Kafka's standard one decides.
        """
        explanation = self._answer(principal, operation, resource, expected=True).explanation
        if explanation is None:
            raise TypeError("only decisions of the StandardAuthorizer can be explained")
        return explanation

    def _warn_of_stranger(self, principal: str) -> None:
        warn_of_stranger(self.configuration, principal, ())

    def _answer(
        self,
        principal: str,
        operation: str | AclOperation,
        resource: ResourceOption,
        *,
        expected: bool,
    ) -> Answer:
        question = question_of(principal, operation, resource)
        policy, snapshot = self._state()
        explained = explanation(policy, snapshot, question)
        allowed = explained.decision.allowed
        return Answer(question, allowed=allowed, expected=expected, explanation=explained)

    @abstractmethod
    def _state(self) -> tuple[Policy, Snapshot]:
        """Return the present policy and ACLs."""

    # --- its ACLs

    @abstractmethod
    def acls(self) -> list[AclBinding]: ...

    def add_acls(self, acls: Acls) -> None:
        """Add ACLs: bindings, records or a file.

        Raises:
            ApiError: the server refuses one of them.
        """
        self._add(bindings_of(acls))

    def remove_acls(self, acls: Acls) -> None:
        """Remove ACLs; missing ones are ignored."""
        self._remove(exactly(binding) for binding in bindings_of(acls))

    def clear(self) -> None:
        self._remove([ANY_BINDING])

    @abstractmethod
    def _add(self, bindings: Iterable[AclBinding]) -> None: ...

    @abstractmethod
    def _remove(self, filters: Iterable[AclBindingFilter]) -> None: ...

    # --- for those who start it

    def _keys(self) -> dict[str, str]:
        config = self.configuration
        tls: dict[str, str] = {}
        if config.encrypts:
            tls = {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(self._server_store()),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.ca_file),
            }
        return keys_of(config, tls=tls)

    def _listener(self, name: str | None) -> str:
        names = self.configuration.listeners
        if name is not None and name not in names:
            raise ValueError(f"listener: found {name!r}; allowed: {', '.join(names)}")
        if not self._addresses:
            raise RuntimeError(NOT_RUNNING)
        return name or names[0]

    def _place(self) -> Path:
        """Return the server's own folder, created on first use."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="doorkeeper-testing-")
        return Path(self._folder.name)

    def _signer(self) -> Authority:
        if self._authority is None:
            from doorkeeper.testing.certificates import Authority  # noqa: PLC0415  heavy

            self._authority = Authority(self._place())
        return self._authority

    def _server_store(self) -> Path:
        path = self._place() / "server.pem"
        return path if path.exists() else self._signer().server().store
