r"""Tokens for OAUTHBEARER that a Java client's file configures without code.

    sasl.oauthbearer.token.endpoint.url=file:/etc/kafka/token.jwt
    sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \
        unsecuredLoginStringClaim_sub="alice";

One of the two. A file is read at each login, so that a renewed token is used. Unsecured tokens are
for tests.

Source: ``FileJwtRetriever``, ``OAuthBearerUnsecuredLoginCallbackHandler`` (4.3.1).
"""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from doorkeeper.client.config_providers import with_prefix
from doorkeeper.client.errors import LoginRefused
from doorkeeper.client.logins import Bearer

ENDPOINT_KEY: Final = "sasl.oauthbearer.token.endpoint.url"
_PREFIX: Final = "unsecuredLogin"
_STRING, _NUMBER, _LIST, _EXTENSION = (
    f"{_PREFIX}{kind}_" for kind in ("StringClaim", "NumberClaim", "ListClaim", "Extension")
)
_LIFETIME: Final = f"{_PREFIX}LifetimeSeconds"
_NS_PER_S: Final = 1_000_000_000
_LIFETIME_S: Final = "3600"
_TOKEN_BYTES_MAX: Final = 1024 * 1024


def bearer_of(options: Mapping[str, str], endpoint: str | None) -> Bearer:
    """Return the login that the login module's options and the endpoint key configure.

    Raises:
        ValueError: they configure none, or need a network service; the text begins with the key.
    """
    extensions = with_prefix(options, _EXTENSION)
    if endpoint:
        parts = urlsplit(endpoint)
        if parts.scheme != "file":
            raise ValueError(f"{ENDPOINT_KEY}: found {endpoint}; allowed here: file:/path")
        path = Path(unquote(parts.path))

        async def from_file() -> str:
            return _read(path)

        return Bearer(from_file, extensions)
    claims = _claims(options)
    if not claims:
        raise ValueError(
            f"sasl.jaas.config: OAUTHBEARER requires {_STRING}sub, or {ENDPOINT_KEY} with a file"
        )
    lifetime_s = _number(_LIFETIME, options.get(_LIFETIME, _LIFETIME_S))

    async def unsecured() -> str:
        now_s = time.time_ns() // _NS_PER_S
        whole = {"iat": now_s, "exp": now_s + lifetime_s, **claims}
        return f"{_encode({'alg': 'none'})}.{_encode(whole)}."

    return Bearer(unsecured, extensions)


def _claims(options: Mapping[str, str]) -> dict[str, Any]:
    claims: dict[str, Any] = dict(with_prefix(options, _STRING))
    for name, text in with_prefix(options, _NUMBER).items():
        claims[name] = _number(_NUMBER + name, text)
    for name, text in with_prefix(options, _LIST).items():
        # The first character is the separator, as in Kafka.
        claims[name] = text[1:].split(text[0]) if text else []
    return claims


def _number(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(
            f"sasl.jaas.config: the option {option}: found {text!r}; allowed: a number"
        ) from None
    return int(value) if value.is_integer() else value


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            # Bounded: a wrong path may name a file of any size.
            return file.read(_TOKEN_BYTES_MAX).decode("ascii").strip()
    except OSError as error:
        raise LoginRefused(f"{ENDPOINT_KEY}: {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise LoginRefused(f"{ENDPOINT_KEY}: {path} holds no token") from None


def _encode(value: Mapping[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
