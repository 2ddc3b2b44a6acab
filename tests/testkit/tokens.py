"""Tokens of OAUTHBEARER, signed and unsigned, and the keys that sign them."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Key = RSAKey | ECKey | OKPKey | OctKey

NOW_S = 1_700_000_000
NOW_MS = NOW_S * 1000


@cache
def key_of(kind: str, kid: str | None = None) -> Key:
    """Return a key, always the same in a run: RSA, EC, P-384, P-521, Ed25519 or oct."""
    parameters = {} if kid is None else {"kid": kid}
    match kind:
        case "RSA":
            return RSAKey.generate_key(2048, parameters)  # type: ignore[arg-type]
        case "EC":
            return ECKey.generate_key("P-256", parameters)  # type: ignore[arg-type]
        case "oct":
            return OctKey.generate_key(256, parameters)  # type: ignore[arg-type]
        case "Ed25519":
            return OKPKey.generate_key("Ed25519", parameters)  # type: ignore[arg-type]
        case curve:
            return ECKey.generate_key(curve, parameters)  # type: ignore[arg-type]


def public(key: Key, **members: Any) -> dict[str, Any]:
    """Return a key as it stands in a key set; a shared secret stands there whole."""
    found = dict(key.as_dict() if isinstance(key, OctKey) else key.as_dict(private=False))
    if key.kid is None:
        found.pop("kid", None)
    return found | members


def key_set(*keys: Key | Mapping[str, Any]) -> bytes:
    """Return the text of a key set."""
    members = [dict(key) if isinstance(key, dict) else public(key) for key in keys]  # type: ignore[arg-type]
    return json.dumps({"keys": members}).encode()


def signed(
    claims: Mapping[str, Any] | bytes,
    key: Key,
    algorithm: str,
    **header: Any,
) -> str:
    """Return a token with a good signature."""
    members = {"alg": algorithm, **({"kid": key.kid} if key.kid else {}), **header}
    text = f"{encoded(members)}.{encoded(claims)}"
    signature = JWSRegistry.algorithms[algorithm].sign(text.encode(), key)
    return f"{text}.{encoded(signature)}"


def unsigned(claims: Any, header: Any = None) -> str:
    """Return a token that says it has no signature."""
    parts: Sequence[Any] = ({"alg": "none"} if header is None else header, claims)
    return "".join(f"{encoded(part)}." for part in parts)


def encoded(part: Any) -> str:
    """Return JSON, or bytes, as a part of a token."""
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def first_message(token: str, *extensions: str, authorization_id: str = "") -> bytes:
    """Return what a client sends."""
    wanted = f"a={authorization_id}" if authorization_id else ""
    pairs = "\x01".join([f"auth=Bearer {token}", *extensions])
    return f"n,{wanted},\x01{pairs}\x01\x01".encode()
