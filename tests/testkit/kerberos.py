"""GSSAPI from the client's side, token by token, and who the servers took the client for.

Tickets are taken from caches of a ``Kdc``; the library finds the realm by the environment that
``testkit.kdc`` tells of.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, Self

from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.load import scaled
from testkit.serving import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from testkit.kafka_target import Target
    from testkit.kdc import Kdc

LOGIN_MODULE = "com.sun.security.auth.module.Krb5LoginModule"
SERVICE = "kafka"
SERVER = f"{SERVICE}/localhost"

AUDITED = re.compile(r"Principal = (\S+:.*?) is (?:Denied|Allowed) operation")
SEEN_S = 10

LAYERS = bytes((1, 1, 0, 0))
"""What a server offers: no layer of protection, and the size of what it would protect."""

CLOSED = ("closed",)
"""What a server answers that closes the connection."""

ANY_ACL = DescribeAclsRequest(
    resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
)

Answer = tuple[Any, ...]


def server_properties(kdc: Kdc, keytab: Path, rules: str = "DEFAULT") -> dict[str, str]:
    """Return the keys that let the listener SASL of a target take tickets; for both servers.

    Underscores stand for dots, as ``Target`` has them.
    """
    jaas = (
        f"{LOGIN_MODULE} required useKeyTab=true storeKey=true"
        f' keyTab="{keytab}" principal="{SERVER}@{kdc.realm}";'
    )
    return {
        "sasl_enabled_mechanisms": "GSSAPI",
        "sasl_kerberos_service_name": SERVICE,
        "sasl_kerberos_principal_to_local_rules": rules.replace("\\", "\\\\"),
        "listener_name_sasl_gssapi_sasl_jaas_config": jaas,
        "doorkeeper_kerberos_config_file": str(kdc.configuration),
    }


def client_properties(target: Target, options: str, service: str = SERVICE) -> dict[str, str]:
    """Return a Java client's keys, with these options of its login module."""
    return {
        "bootstrap.servers": target.sasl,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": service,
        "sasl.jaas.config": f"{LOGIN_MODULE} required {options};",
    }


class Ticket:
    """A client's side of one login: who it is stands in a ticket cache."""

    def __init__(self, cache: Path, *, mutual: bool = True) -> None:
        """Ask the KDC for a ticket of the server."""
        import gssapi

        wanted = gssapi.RequirementFlag
        # No flags at all would be the library's default, which has this one.
        flags = wanted.mutual_authentication if mutual else wanted.replay_detection
        self._context: Any = gssapi.SecurityContext(
            name=gssapi.Name(f"{SERVICE}@localhost", gssapi.NameType.hostbased_service),
            creds=gssapi.Credentials(usage="initiate", store={"ccache": f"FILE:{cache}"}),
            mech=gssapi.MechType.kerberos,
            usage="initiate",
            flags=int(flags),
        )
        self.token: bytes = self._context.step()

    def prove(self, answer: bytes) -> None:
        """Take the server's proof."""
        if answer:
            self._context.step(answer)

    def wrapped(self, message: bytes) -> bytes:
        """Return a message as only this client can have made it."""
        found: bytes = self._context.wrap(message, False).message
        return found

    def unwrapped(self, token: bytes) -> bytes:
        """Return what the server wrapped."""
        found: bytes = self._context.unwrap(token).message
        return found


class Login:
    """A connection that logs in by hand."""

    def __init__(self, target: Target) -> None:
        """Connect to the listener SASL."""
        self._talk = Conversation(int(target.sasl.rpartition(":")[2]))
        self.lifetime_ms = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._talk.socket.close()

    def choose(self, mechanism: str = "GSSAPI") -> Answer:
        """Name the mechanism."""
        request = SaslHandshakeRequest(mechanism=mechanism)
        return self._asked(
            lambda: self._talk.call(request, SaslHandshakeResponse, 1),
            lambda answer: (answer.error_code, tuple(answer.mechanisms)),
        )

    def send(self, token: bytes) -> Answer:
        """Send a token; return error code, text and the token that came back."""

        def told(answer: Any) -> Answer:
            self.lifetime_ms = answer.session_lifetime_ms
            return (answer.error_code, answer.error_message, answer.auth_bytes)

        request = SaslAuthenticateRequest(auth_bytes=token)
        return self._asked(lambda: self._talk.call(request, SaslAuthenticateResponse, 2), told)

    def log_in(self, ticket: Ticket, name: bytes = b"") -> Answer:
        """Prove who this is, to the end; return the last answer."""
        self.choose()
        answer = self.send(ticket.token)
        if answer[0] != 0:
            return answer
        if len(answer[2]) > 0 and not _is_wrapped(ticket, answer[2]):
            ticket.prove(answer[2])
            answer = self.send(b"")
        return self.send(ticket.wrapped(b"\1\0\0\0" + name))

    def describe_acls(self) -> Answer:
        """Ask what the authorizer must decide."""
        return self._asked(
            lambda: self._talk.call(ANY_ACL, DescribeAclsResponse, 1),
            lambda answer: (answer.error_code,),
        )

    def _asked(self, ask: Callable[[], Any], told: Callable[[Any], Answer]) -> Answer:
        try:
            return told(ask())
        except (EOFError, ConnectionError):
            return CLOSED


def _is_wrapped(ticket: Ticket, token: bytes) -> bool:
    """Say whether a token is no proof but what comes after it."""
    from gssapi.raw.misc import GSSError

    try:
        return ticket.unwrapped(token) == LAYERS
    except GSSError:
        return False


def shape(answer: Answer) -> Answer:
    """Return an answer without what differs each time: a token is there, or empty."""
    return tuple(bool(part) if isinstance(part, bytes) else part for part in answer)


def principals_seen(target: Target, count: int) -> list[str]:
    """Wait until the audit tells of so many questions; return who asked, in order."""
    deadline = time.monotonic() + scaled(SEEN_S)
    while True:
        whole, _, _ = target.server.log.read_bytes().rpartition(b"\n")
        lines = whole.decode("utf-8", "replace").split("\n")
        texts = lines if target.is_kafka else [json.loads(line)["event"] for line in lines if line]
        found = [name for text in texts for name in AUDITED.findall(text)]
        if len(found) >= count or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def environment(kdc: Kdc) -> Mapping[str, str]:
    """Return what this process and those that it starts need: libraries, and each JVM.

    Kafka looks into errors of the JDK for those that are worth another try, and since Java 16 gets
    to see them with this option only; without it a broker refuses the client for good.
    """
    options = (
        f"-Djava.security.krb5.conf={kdc.configuration}",
        "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    )
    return {**kdc.environment, "JAVA_TOOL_OPTIONS": " ".join(options)}
