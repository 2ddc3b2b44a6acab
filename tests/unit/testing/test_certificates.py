"""An authority of the test's own."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from cryptography import x509

from doorkeeper.testing.certificates import Authority, Certificate

if TYPE_CHECKING:
    from pathlib import Path


def names(path: Path) -> list[str]:
    """Return the subjects of the certificates in a file."""
    found = x509.load_pem_x509_certificates(path.read_bytes())
    return [each.subject.rfc4514_string() for each in found]


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> dict[str, object]:
    """Let both shake hands; return what the server knows of the client."""
    ends = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
    (to_server, to_client) = (ends[0][0], ends[0][1])
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    for side in (theirs, ours, theirs, ours):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    found = ours.getpeercert()
    return dict(found) if found else {}


def contexts(
    authority: Authority, own: Certificate | None
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(authority.server().store)
    server.load_verify_locations(authority.file)
    server.verify_mode = ssl.CERT_OPTIONAL
    client = ssl.create_default_context(cafile=str(authority.file))
    if own is not None:
        client.load_cert_chain(own.chain, own.key)
    return server, client


def test_certificates_are_mutually_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    for name in ("localhost", "127.0.0.1", "::1"):
        found = handshake(*contexts(authority, authority.client("alice")), name)
        assert found["subject"] == ((("commonName", "alice"),),)


def test_client_has_one_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    alice, other = authority.client("alice"), authority.client("../alice, & co")

    assert authority.client("alice") == alice
    assert names(alice.chain)[0] == "CN=alice"
    assert names(other.chain) == ["CN=../alice\\, & co", "CN=doorkeeper testing"]
    assert other.chain.parent == tmp_path


def test_key_files_are_private(tmp_path: Path) -> None:
    made = Authority(tmp_path).server()

    assert {path.stat().st_mode & 0o077 for path in (made.key, made.store)} == {0}
    assert made.store.read_bytes() == made.key.read_bytes() + made.chain.read_bytes()
