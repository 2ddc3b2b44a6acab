"""JSON Web Key Sets (RFC 7517): the keys that verify tokens.

Only public keys are accepted, each for the algorithms of its own type: a token cannot make a public
key serve as a shared secret. Keys of other types are skipped, as in ``JsonWebKeySet`` of Kafka's
jose4j; a set without any usable key is an error.

``FileKeys`` are those of a file, loaded at the start and whenever it changes. Those of an identity
provider are in ``jwks_url``.

Source: ``JwksFileVerificationKeyResolver`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key
from msgspec import Struct

from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.oauth.json_text import InvalidJson, decode_base64url, json_object

_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_ALGORITHMS_OF: Final = {
    ("RSA", None): _RSA,
    ("EC", "P-256"): frozenset({"ES256"}),
    ("EC", "P-384"): frozenset({"ES384"}),
    ("EC", "P-521"): frozenset({"ES512"}),
    ("OKP", "Ed25519"): frozenset({"EdDSA"}),
    ("OKP", "Ed448"): frozenset({"EdDSA"}),
}
"""By ``kty`` and ``crv``."""

_PUBLIC_MEMBERS: Final = {
    "RSA": ("kty", "n", "e"),
    "EC": ("kty", "crv", "x", "y"),
    "OKP": ("kty", "crv", "x"),
}
ALGORITHMS: Final = frozenset().union(*_ALGORITHMS_OF.values())
"""The accepted signature algorithms: no ``none``, and no HMAC, as a key set holds no secrets."""

# RFC 7518, section 3.3; Kafka's jose4j rejects smaller keys too.
RSA_BITS_MIN: Final = 2048
# A larger key costs milliseconds for each login.
RSA_BITS_MAX: Final = 16384
# Identity providers publish two or three.
KEYS_MAX: Final = 100
# The bound of Kafka's jose4j.
JWKS_BYTES_MAX: Final = 524_288


class VerificationKey(Struct, frozen=True):
    """A key, and the algorithms that it may be used with."""

    kid: str | None
    algorithms: frozenset[str]
    key: Key


class KeySet(Struct, frozen=True):
    """The usable keys of a set. ``left_out`` has the reason for each of the others.

    joserfc's own ``KeySet`` takes the first key of a ``kid`` whatever its type, picks one at random
    where a token names none, and fails as a whole at a faulty key.
    """

    keys: tuple[VerificationKey, ...]
    left_out: tuple[str, ...] = ()

    def candidates(self, kid: str | None, algorithm: str) -> Iterator[VerificationKey]:
        """Yield the keys with this id that may be used with the algorithm; None matches any id."""
        for key in self.keys:
            if (kid is None or kid == key.kid) and algorithm in key.algorithms:
                yield key


def parse(data: bytes) -> KeySet:
    if len(data) > JWKS_BYTES_MAX:
        raise ValueError(f"found more than {JWKS_BYTES_MAX} bytes; at most {JWKS_BYTES_MAX}")
    try:
        members = json_object(data).get("keys")
    except InvalidJson as error:
        raise ValueError(f"not a JSON Web Key Set: {error}") from None
    if not isinstance(members, list) or len(members) > KEYS_MAX:
        raise ValueError(
            f'not a JSON Web Key Set: "keys" must be a list of at most {KEYS_MAX} keys'
        )
    keys: list[VerificationKey] = []
    left_out: list[str] = []
    for number, member in enumerate(members, 1):
        try:
            key = _key(member)
            # RFC 7517, 4.5: distinct, but for equivalent keys of different types. As a broker does,
            # the first one counts.
            if key.kid is not None and any(
                key.kid == other.kid and key.algorithms & other.algorithms for other in keys
            ):
                raise ValueError("its kid is a duplicate")
            keys.append(key)
        except ValueError as error:
            left_out.append(f"key {number}: {error}")
    if not keys:
        raise ValueError("; ".join(["no usable key", *left_out]))
    return KeySet(tuple(keys), tuple(left_out))


def _key(member: object) -> VerificationKey:
    if not isinstance(member, dict):
        raise ValueError("not a JSON object")
    kid, use, operations = member.get("kid"), member.get("use"), member.get("key_ops")
    if use not in (None, "sig"):
        raise ValueError("its use is not sig")
    if operations is not None and not (isinstance(operations, list) and "verify" in operations):
        raise ValueError("its key_ops do not contain verify")
    if kid is not None and not isinstance(kid, str):
        raise ValueError("its kid is not a string")
    algorithms, key = _key_of_type(member)
    if "alg" in member and member["alg"] is not None:
        algorithms &= {str(member["alg"])}
    if not algorithms:
        raise ValueError("its alg does not match its kty and crv")
    return VerificationKey(kid, algorithms, key)


def _key_of_type(member: dict[str, object]) -> tuple[frozenset[str], Key]:
    kind, curve = str(member.get("kty")), member.get("crv")
    if kind not in _PUBLIC_MEMBERS:
        raise ValueError(f"its kty is not one of {', '.join(_PUBLIC_MEMBERS)}")
    try:
        algorithms = _ALGORITHMS_OF[kind, None if kind == "RSA" else str(curve)]
        public: dict[str, Any] = {name: member[name] for name in _PUBLIC_MEMBERS[kind]}
        if kind == "RSA":
            _check_size(public["n"])
        key = JWKRegistry.import_key(public)
        # Made here: a point beside the curve, or a wrong size, is an error.
        assert key.public_key is not None
    except (JoseError, UnsupportedAlgorithm, ValueError, TypeError, KeyError):
        # No cause: the errors of the libraries contain parts of the key.
        raise ValueError(f"it cannot be used as a key of type {kind}") from None
    return algorithms, key


def _check_size(modulus: str) -> None:
    # Before the import, which only warns of a small key.
    bits = int.from_bytes(decode_base64url(modulus), "big").bit_length()
    if not RSA_BITS_MIN <= bits <= RSA_BITS_MAX:
        raise ValueError(bits)


# --- keys from a file


class FileKeys:
    """The keys of a file. Call ``start`` first."""

    __slots__ = ("_file", "_logger", "_path")

    def __init__(self, path: Path, logger: Logger) -> None:
        self._path = path
        self._logger = logger
        self._file: ReloadedFiles[KeySet] | None = None

    @property
    def keys(self) -> KeySet:
        return KeySet(()) if self._file is None else self._file.value

    async def start(self) -> None:
        self._file = ReloadedFiles(self._load, self._logger, self._path)

    async def close(self) -> None:
        """Do nothing: there is no task to stop."""

    def refresh(self) -> None:
        """Reload a changed file, also when a token names an unknown key."""
        assert self._file is not None, "started before"
        self._file.refresh()

    fetch_newer = refresh

    def _load(self) -> KeySet:
        with self._path.open("rb") as file:
            data = file.read(JWKS_BYTES_MAX + 1)
        try:
            return parse(data)
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}") from None
