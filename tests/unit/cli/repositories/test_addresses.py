"""The grammar of addresses."""

from __future__ import annotations

import pytest

from doorkeeper.cli.repositories.addresses import Address, AddressKind, parse_address


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("acls.yaml", AddressKind.FILE, "acls.yaml"),
        ("-", AddressKind.FILE, "-"),
        ("./localhost:9092", AddressKind.FILE, "./localhost:9092"),
        ("kafka://a:1,b:2", AddressKind.BROKERS, "a:1,b:2"),
        ("a.example:9092", AddressKind.BROKERS, "a.example:9092"),
        ("a:1,[::1]:2", AddressKind.BROKERS, "a:1,[::1]:2"),
        ("controllers://a:1", AddressKind.CONTROLLERS, "a:1"),
        ("config:/etc/server.properties", AddressKind.CONFIG, "/etc/server.properties"),
        ("store:/var/lib/doorkeeper/", AddressKind.STORE, "/var/lib/doorkeeper/"),
        ("postgresql://u@h:1,i/d?sslmode=require", AddressKind.SHARED, "u@h:1,i/d?sslmode=require"),
    ],
)
def test_each_form_has_its_kind(text: str, kind: AddressKind, target: str) -> None:
    """The text of an address is read as the same address again."""
    address = parse_address(text)

    assert address == Address(kind, target)
    assert parse_address(str(address)) == address


@pytest.mark.parametrize("text", ["", "kafka://", "config:", "KAFKA://a:1", "http://a:1/acls"])
def test_invalid_addresses_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected: an address: a file, kafka://HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("kafka://B:2,a:1", "kafka://a:1,b:2"),
        ("config:/x/../y.properties", "config:/y.properties"),
        ("store:/x/../y/", "store:/y"),
        ("postgres://u:pw@h/d", "postgresql://u@h/d"),
        ("/x/../y.yaml", "/y.yaml"),
    ],
)
def test_equivalent_addresses_have_one_canonical_text(text: str, canonical: str) -> None:
    assert parse_address(text).canonical() == canonical


def test_passwords_are_hidden() -> None:
    address = parse_address("postgresql://u:s3cret@h/d")

    assert (address.target, str(address)) == ("u:s3cret@h/d", "postgresql://u@h/d")
    with pytest.raises(ValueError) as caught:
        parse_address("mysql://u:s3cret@h/d")
    assert "s3cret" not in str(caught.value)
