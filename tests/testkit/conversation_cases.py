"""The catalogue of conversations: authentication in and out of order, and requests that are wrong.

Every state of an authentication meets everything that can come then; every fault that a frame can
have is shown to an open connection.
"""

import struct
from collections.abc import Iterator
from itertools import product
from typing import Any

from doorkeeper_wire.messages import (
    api_versions,
    create_acls,
    describe_acls,
    describe_cluster,
    metadata,
    sasl_authenticate,
    sasl_handshake,
)
from testkit.conversations import Conversation, Turn, say, sized

Versions = api_versions.ApiVersionsRequest
ASK_VERSIONS = Versions.__name__
VersionsAnswer = api_versions.ApiVersionsResponse
SOFTWARE: dict[str, Any] = {"client_software_name": "talker", "client_software_version": "1.0"}


def versions(version: int = 3, **software: Any) -> Turn:
    """Ask for the versions."""
    return say(Versions(**{**SOFTWARE, **software}), VersionsAnswer, version)


def odd_versions(version: int) -> Turn:
    """Ask for the versions in one that nobody has: the answer is of version 0."""
    head = struct.pack(">hhih", 18, version, 77, -1)
    return Turn(sized(head + b"\0\7nonsense"), VersionsAnswer, 0, name=ASK_VERSIONS)


def hand(mechanism: str = "PLAIN", version: int = 1) -> Turn:
    """Choose a mechanism."""
    return say(
        sasl_handshake.SaslHandshakeRequest(mechanism=mechanism),
        sasl_handshake.SaslHandshakeResponse,
        version,
    )


def plain(user: str = "alice", word: str | None = None, authzid: str = "") -> bytes:
    """Return a token of PLAIN."""
    return f"{authzid}\0{user}\0{word or user + '-secret'}".encode()


def token(data: bytes | None = None, version: int = 2) -> Turn:
    """Send a token in a request."""
    return say(
        sasl_authenticate.SaslAuthenticateRequest(auth_bytes=plain() if data is None else data),
        sasl_authenticate.SaslAuthenticateResponse,
        version,
    )


def bare(data: bytes | None = None) -> Turn:
    """Send a token as a frame of its own."""
    return Turn(sized(plain() if data is None else data))


def topics(version: int = 9) -> Turn:
    """Ask for no topics: any other API."""
    return say(metadata.MetadataRequest(topics=()), metadata.MetadataResponse, version)


def cluster(version: int = 1, **fields: Any) -> Turn:
    """Describe the cluster."""
    return say(
        describe_cluster.DescribeClusterRequest(**fields),
        describe_cluster.DescribeClusterResponse,
        version,
    )


def acls(version: int = 3, **fields: Any) -> Turn:
    """Describe all ACLs."""
    every = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1}
    request = describe_acls.DescribeAclsRequest(**{**every, "permission_type": 1, **fields})
    return say(request, describe_acls.DescribeAclsResponse, version)


OPEN = (hand(), token())

TOKENS: tuple[tuple[str, bytes], ...] = (
    ("good", plain()),
    ("a super user", plain("admin")),
    ("its own authzid", plain(authzid="alice")),
    ("a wrong password", plain(word="wrong")),
    ("an unknown user", plain("nobody", "alice-secret")),
    ("no user", plain("", "alice-secret")),
    ("no password", b"\0alice\0"),
    ("an authzid of another", plain(authzid="bob")),
    ("an authzid of another, wrong password", plain(word="wrong", authzid="bob")),
    ("nothing", b""),
    ("one NUL", b"\0"),
    ("two NULs", b"\0\0"),
    ("three NULs", b"\0\0\0"),
    ("one part", b"alice"),
    ("two parts", b"alice\0alice-secret"),
    ("four parts", b"\0alice\0alice-secret\0more"),
    ("a NUL at the end", b"\0alice\0alice-secret\0"),
    ("bytes that are no text", b"\0\xff\xfe\0\xff"),
    ("a user in another case", plain("Alice", "alice-secret")),
    ("a user with a space", plain("alice ", "alice-secret")),
    ("a surrogate", b"\0\xed\xa0\x80\0alice-secret"),
)


def authentications() -> Iterator[Conversation]:
    """Yield every token, in each version and bare; good ones are used afterwards."""
    for (name, data), version in product(TOKENS, (0, 1, 2)):
        yield Conversation(
            f"token v{version}: {name}", "sasl", (hand(), token(data, version), acls(1), topics())
        )
    for name, data in TOKENS:
        yield Conversation(f"bare token: {name}", "sasl", (hand(version=0), bare(data), acls(1)))
    for version, name in product((0, 1), ("SCRAM-SHA-256", "plain", "", "GSSAPI", "x" * 300)):
        yield Conversation(
            f"mechanism {name[:20]!r} v{version}", "sasl", (hand(name, version), token(), topics())
        )
    yield Conversation("null token", "sasl", (hand(), raw(36, 1, b"\xff\xff\xff\xff")))
    yield Conversation("null mechanism", "sasl", (raw(17, 1, b"\xff\xff"),))


def orders() -> Iterator[Conversation]:
    """Yield what comes too early, too late, or twice."""
    bad = versions(client_software_name="-bad-")
    befores: dict[str, tuple[Turn, ...]] = {
        "at first": (),
        "after ApiVersions": (versions(),),
        "after ApiVersions 0": (versions(0),),
        "after ApiVersions 99": (odd_versions(99),),
        "after ApiVersions refused": (bad,),
        "after the handshake": (hand(),),
        "after ApiVersions and handshake": (versions(), hand()),
        "after a bare handshake": (hand(version=0),),
        "when open": OPEN,
        "when open, bare": (hand(version=0), bare()),
        "when open, twice asked": (*OPEN, versions(), versions()),
    }
    laters: dict[str, tuple[Turn, ...]] = {
        "ApiVersions 0": (versions(0),),
        "ApiVersions 3, then the login": (versions(), *OPEN),
        "ApiVersions 4": (versions(4),),
        "ApiVersions 99, twice": (odd_versions(99), odd_versions(-1), *OPEN),
        "ApiVersions refused, then again": (bad, versions(), *OPEN),
        "handshake 0": (hand(version=0), bare(), topics()),
        "handshake 1": (*OPEN, topics()),
        "handshake of another mechanism": (hand("SCRAM-SHA-256"), topics()),
        "handshake 2": (raw(17, 2, b"\0\5PLAIN", sasl_handshake.SaslHandshakeResponse),),
        "handshake -1": (raw(17, -1, b"\0\5PLAIN", sasl_handshake.SaslHandshakeResponse),),
        "authenticate 0": (token(version=0), topics()),
        "authenticate 2": (token(), topics()),
        "authenticate 3": (raw(36, 3, b"\0\0\0\0"),),
        "Metadata 0": (topics(0),),
        "Metadata 12": (topics(12),),
        "Metadata 99": (raw(3, 99, b""),),
        "DescribeAcls": (acls(),),
        "DescribeCluster": (cluster(),),
        "CreateAcls of nothing": (
            say(create_acls.CreateAclsRequest(), create_acls.CreateAclsResponse, 3),
        ),
        "a bare token": (bare(),),
        "an empty frame": (Turn(sized(b"")),),
        "a key that nobody has": (raw(999, 0, b""),),
        "text": (Turn(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", last=True),),
        "a frame cut off": (Turn(b"\0\0\0\20abc", last=True),),
        "half a size": (Turn(b"\0\0", last=True),),
        "a negative size": (Turn(struct.pack(">i", -1)),),
        "too large a size": (Turn(struct.pack(">i", 0x7FFFFFFF)),),
    }
    for (when, before), (what, later) in product(befores.items(), laters.items()):
        yield Conversation(f"{when}: {what}", "sasl", (*before, *later))


def raw(
    key: int, version: int, body: bytes, response: Any = None, *, flexible: bool = False
) -> Turn:
    """Return a turn whose header is made here, whatever key and version it names."""
    head = struct.pack(">hhih", key, version, 77, -1) + (b"\0" if flexible else b"")
    return Turn(sized(head + body), response, version)


def sizes() -> Iterator[Conversation]:
    """Yield frames around the bounds of size."""
    large = Turn(struct.pack(">i", 524289))
    yield Conversation("a stranger's frame over the limit", "sasl", (large,))
    yield Conversation("over the limit after the handshake", "sasl", (hand(), large))
    fitting = token(b"\0alice\0" + b"x" * 524000)
    yield Conversation("a long password", "sasl", (hand(), fitting))
    beyond = Turn(struct.pack(">i", 104857601))
    for listener in ("plain", "controller"):
        yield Conversation(f"a frame over the limit, {listener}", listener, (beyond,))
    yield Conversation("a frame over the limit when open", "sasl", (*OPEN, beyond))


def headers() -> Iterator[Conversation]:
    """Yield headers of all kinds, on an open connection."""
    body = versions().data
    for client in (None, "", "x", "\u00e9\U0001f600", "x" * 3000):
        turn = say(Versions(**SOFTWARE), VersionsAnswer, 3, client)
        other = say(
            describe_acls.DescribeAclsRequest(
                resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
            ),
            describe_acls.DescribeAclsResponse,
            1,
            client,
        )
        yield Conversation(f"client id {str(client)[:4]!r}", "plain", (turn, other))
    head = struct.pack(">hhi", 18, 3, 77)
    software = b"\7talker\0041.0\0"
    for name, data in (
        ("a client id of length -2", head + b"\xff\xfe\0" + software),
        ("a client id that is no text", head + b"\0\2\xff\xfe\0" + software),
        ("a client id beyond the end", head + b"\0\x7fab"),
        ("unknown tags", head + b"\xff\xff\1\5\2ab" + software),
        ("the same tag twice", head + b"\xff\xff\2\5\1a\5\1b" + software),
        ("tags out of order", head + b"\xff\xff\2\6\1a\5\1b" + software),
        ("a tag beyond the end", head + b"\xff\xff\1\5\x7fab"),
        ("no tag section", head + b"\xff\xff"),
        ("a header of version 1", head + b"\xff\xff" + software[:-1]),
        ("a compact client id", head + b"\2x\0" + software),
        ("no client id", head),
        ("a correlation id and half", head[:-2]),
        ("key and version alone", head[:4]),
        ("half a key", head[:1]),
        ("nothing", b""),
    ):
        turn = Turn(sized(data), VersionsAnswer, 3, name=ASK_VERSIONS)
        for listener in ("plain", "sasl"):
            yield Conversation(f"header: {name}, {listener}", listener, (turn, versions()))
    both = Turn(body + body, VersionsAnswer, 3, answers=2, name=ASK_VERSIONS)
    yield Conversation("two requests at once", "plain", (both, versions()))
    old = Turn(sized(struct.pack(">hhih", 18, 0, -5, -1)), VersionsAnswer, name=ASK_VERSIONS)
    yield Conversation("a negative correlation id", "plain", (old,))


def tables() -> Iterator[Conversation]:
    """Yield keys and versions that are not served; keys that a broker serves and we do not, not."""
    keys = (-1, 4, 5, 6, 7, 52, 53, 54, 58, 59, 62, 63, 67, 70, 73, 82, 200, 32767)
    for key, version in product(keys, (0, 1)):
        turn = raw(key, version, b"\0" * 16, flexible=version > 0)
        yield Conversation(f"key {key} v{version}", "plain", (turn,))
    for key, version in (
        *product((3, 10, 15, 16, 17, 19, 20, 29, 30, 31, 32, 36, 60, 75), (-1, 14, 99, 32767)),
        *((3, 14), (10, 7), (15, 7), (16, 6), (17, 2), (19, 8), (20, 7), (29, 4), (30, 4)),
        *((31, 4), (32, 5), (36, 3), (60, 3), (75, 1)),
    ):
        yield Conversation(f"key {key} v{version}", "plain", (raw(key, version, b"\0" * 16),))
    for version in (-1, 5, 6, 99, 32767, -32768):
        if version != 5:
            turns = (odd_versions(version), versions())
            yield Conversation(f"ApiVersions {version}", "plain", turns)
    names = (
        "a",
        "a.b-c",
        "a_b",
        "a b",
        "",
        "-a",
        "a-",
        ".a",
        "a.",
        "\u00e9",
        "x" * 300,
        "a\n",
        "A9",
    )
    for name in names:
        for field in SOFTWARE:
            software: dict[str, Any] = {field: name}
            turns = (versions(**software), versions(4))
            yield Conversation(f"software {software}"[:60], "plain", turns)
            yield Conversation(f"software {software}, sasl"[:66], "sasl", (*turns, *OPEN))


def controllers() -> Iterator[Conversation]:
    """Yield what a listener for controllers answers, and what it does not."""
    for version, kind, operations in product((0, 1, 2), (0, 1, 2, 3), (False, True)):
        fields: dict[str, Any] = {"include_cluster_authorized_operations": operations}
        if version:
            fields["endpoint_type"] = kind
        name = f"controller, DescribeCluster {version} {kind} {operations}"
        yield Conversation(name, "controller", (cluster(version, **fields),))
    for version in (1, 2, 3):
        yield Conversation(f"controller, DescribeAcls {version}", "controller", (acls(version),))
    for version in range(5):
        turn = versions(version)
        yield Conversation(f"controller, ApiVersions {version}", "controller", (turn,))
    for key, version in ((3, 9), (10, 4), (15, 5), (16, 4), (75, 0)):
        turn = raw(key, version, b"\0" * 16, flexible=True)
        yield Conversation(f"controller, key {key}", "controller", (turn,))
    yield Conversation("controller, handshake", "controller", (hand(), token()))
    yield Conversation("plain, handshake", "plain", (hand(), token(), hand("x"), token(b"", 0)))


CATALOGUE: dict[str, tuple[Conversation, ...]] = {
    kind.__name__: tuple(kind())
    for kind in (authentications, orders, sizes, headers, tables, controllers)
}
