"""Sets of keys."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from doorkeeper.server.security.oauth.jwks import KEYS_MAX, parse
from testkit.tokens import encoded, key_of, key_set, public


def test_key_algorithm_is_enforced() -> None:
    """A key for RS256 is not used with PS256."""
    [found] = parse(key_set(public(key_of("RSA"), alg="RS256"))).keys

    assert found.algorithms == {"RS256"}


def test_private_key_is_reduced_to_its_public_key() -> None:
    text = json.dumps({"keys": [dict(key_of("EC", "k").as_dict(private=True))]})

    [found] = parse(text.encode()).keys

    assert not found.key.is_private


def small() -> dict[str, Any]:
    numbers = generate_private_key(65537, 1024).public_key().public_numbers()
    return {"kty": "RSA", "e": "AQAB", "n": encoded(numbers.n.to_bytes(128, "big"))}


LEFT_OUT: dict[str, Any] = {
    "a shared secret": public(key_of("oct", "s")),
    "a key for encryption": public(key_of("EC"), use="enc"),
    "a key that may not verify": public(key_of("EC"), key_ops=["sign"]),
    "an algorithm of another kind": public(key_of("EC"), alg="RS256"),
    "an id that is no text": public(key_of("EC"), kid=1),
    "an unknown kind": {"kty": "LMS", "kid": "x"},
    "no kind": {"kid": "x"},
    "a curve that is not used": public(key_of("EC"), crv="secp256k1"),
    "a point beside the curve": public(key_of("EC"), x=public(key_of("EC"))["y"]),
    "a member that is missing": {"kty": "RSA", "e": "AQAB"},
    "a member that is no base64": public(key_of("RSA"), n="!"),
    "a key of the curve X25519": public(key_of("Ed25519"), crv="X25519"),
    "not an object": "key",
}


@pytest.mark.parametrize("member", LEFT_OUT.values(), ids=LEFT_OUT)
def test_unsupported_keys_are_skipped(member: Any) -> None:
    text = json.dumps({"keys": [member, public(key_of("EC", "good"))]})

    found = parse(text.encode())

    assert [each.kid for each in found.keys] == ["good"]
    assert [reason.partition(":")[0] for reason in found.left_out] == ["key 1"]


def test_first_key_of_an_id_is_used() -> None:
    """A second one of its type is left out; one of another type may be an equivalent (RFC 7517)."""
    first = public(key_of("EC", "k"))
    members = [first, public(key_of("EC", "k")), public(key_of("RSA", "k"))]
    members += [public(key_of("EC")), public(key_of("EC"))]

    found = parse(json.dumps({"keys": members}).encode())

    assert [each.kid for each in found.keys] == ["k", "k", None, None]
    assert found.left_out == ("key 2: its kid is a duplicate",)
    alone = parse(json.dumps({"keys": [first]}).encode())
    assert found.keys[0].key.as_dict() == alone.keys[0].key.as_dict()


def test_short_rsa_key_is_skipped() -> None:
    """1024 bits are too few, as Kafka finds."""
    with pytest.raises(ValueError, match="key 1: it cannot be used as a key of type RSA"):
        parse(key_set(small()))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b'{"keys": []}',
        b'{"keys": [], "keys": []}',
        b'{"keys": [' + b",".join([b"{}"] * (KEYS_MAX + 1)) + b"]}",
        b" " * 524_289,
    ],
)
def test_invalid_key_sets_are_rejected(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a JSON Web Key Set|no usable key|bytes"):
        parse(text)
