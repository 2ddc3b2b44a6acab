"""Keys of an identity provider: fetched at start, by a timer, and for tokens with unknown keys.

A failed fetch leaves the keys unchanged, and is retried after a wait that doubles. Unauthenticated
clients can name keys that do not exist: fetches triggered by tokens have a minimum interval.

Source: ``RefreshingHttpsJwks`` of kafka-clients 4.3.1, which refuses the first token of a new key
while it fetches; here the client waits for the fetch.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from doorkeeper.base.tls.keys import (
    SSL_TRUSTSTORE_CERTIFICATES,
    SSL_TRUSTSTORE_LOCATION,
    SSL_TRUSTSTORE_TYPE,
)
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.config.sasl_keys import (
    SASL_JAAS_CONFIG,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS,
    SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS,
)
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.oauth.jwks import JWKS_BYTES_MAX, KeySet, parse

FETCH_S: Final = 10.0
"""The timeout of a fetch, for which a client with a new key may have to wait."""

PAUSE_S: Final = 10.0
"""The minimum interval of fetches that tokens trigger."""


RETRY_S_MIN: Final = 0.1
"""The minimum wait after the second failure in a row: without a backoff there would be none."""


class UrlKeys:
    """The keys at a URL. Call ``start`` first and ``close`` last.

    The settings have the refresh interval, the backoff after failures, and whom to trust.
    """

    def __init__(self, url: str, settings: MechanismSettings, logger: Logger) -> None:
        """Read the trusted certificates.

        Raises:
            ValueError: an option is wrong, or the file cannot be used.
        """
        self._url = url
        self._shown = redact_url(url)
        self._refresh_s = settings[SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS] / 1000
        self._backoff_s = settings[SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS] / 1000
        backoff_max_ms = settings[SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS]
        self._backoff_max_s = backoff_max_ms / 1000
        self.tls: ReloadedFiles[ssl.SSLContext] | None = None
        if urlsplit(url).scheme == "https":
            file = _options(settings).get(LOCATION)
            files = [] if file is None else [Path(file)]
            self.tls = ReloadedFiles(partial(trust_context, settings), logger, *files)
        self._logger = logger
        self._session: aiohttp.ClientSession | None = None
        self._timer: asyncio.Task[None] | None = None
        self._fetching: asyncio.Task[str | None] | None = None
        self._requested_s = -PAUSE_S
        self.keys = KeySet(())

    async def start(self) -> None:
        """Fetch the keys, with retries up to the longest backoff, and start the timer."""
        self._session = new_session()
        loop = asyncio.get_running_loop()
        end_s, wait_s = loop.time() + self._backoff_max_s, self._backoff_s
        while (problem := await self._join_fetch()) is not None:
            if loop.time() + wait_s > end_s:
                await self.close()
                raise ValueError(problem)
            await asyncio.sleep(wait_s)
            wait_s = self._longer(wait_s)
        self._timer = loop.create_task(self._run())

    async def close(self) -> None:
        for task in (self._timer, self._fetching):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        if self._session is not None:
            await self._session.close()

    def fetch_newer(self) -> Awaitable[object] | None:
        """Fetch, or join the fetch in progress; None within ``PAUSE_S`` of the last one."""
        if self._fetching is None or self._fetching.done():
            now_s = asyncio.get_running_loop().time()
            if now_s - self._requested_s < PAUSE_S:
                return None
            self._requested_s = now_s
        return self._join_fetch()

    def refresh(self) -> None:
        """Reload the trusted certificates; the timer refreshes the keys."""
        if self.tls is not None:
            self.tls.refresh()

    async def _run(self) -> None:
        wait_s, failed_s = self._refresh_s, self._backoff_s
        while True:
            await asyncio.sleep(wait_s)
            if await self._join_fetch() is None:
                wait_s, failed_s = self._refresh_s, self._backoff_s
            else:
                wait_s, failed_s = failed_s, self._longer(failed_s)

    def _longer(self, wait_s: float) -> float:
        return max(RETRY_S_MIN, min(wait_s * 2, self._backoff_max_s))

    def _join_fetch(self) -> Awaitable[str | None]:
        """Join the fetch in progress, or start one; the result is its problem."""
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.get_running_loop().create_task(self._fetch())
        # Shielded: a waiter that is cancelled must not cancel the fetch for the others.
        return asyncio.shield(self._fetching)

    async def _fetch(self) -> str | None:
        """Fetch the keys; return what is wrong, None if nothing is."""
        assert self._session is not None
        tls = None if self.tls is None else self.tls.value
        try:
            self.keys = parse(await read_document(self._session, self._url, tls))
        except Exception as error:  # the timer must survive any error
            problem = f"{self._shown}: {cause_of(error)}"
        else:
            return None
        # One line for all who wait; at the start the problem is raised.
        if self._timer is not None:
            self._logger.warning(
                "the keys that sign tokens could not be fetched", url=self._shown, problem=problem
            )
        return problem


# --- the trusted certificates

TYPE: Final = SSL_TRUSTSTORE_TYPE.name
LOCATION: Final = SSL_TRUSTSTORE_LOCATION.name
CERTIFICATES: Final = SSL_TRUSTSTORE_CERTIFICATES.name


def _options(settings: MechanismSettings) -> Mapping[str, str]:
    module = settings.login_module
    return {
        name: value.strip()
        for name, value in ({} if module is None else module.options).items()
        if name.startswith("ssl.") and value.strip()
    }


def trust_context(settings: MechanismSettings) -> ssl.SSLContext:
    """Return the TLS context for fetching keys: by default it trusts the system's CAs.

    As on a broker, options of the login module replace them: ``ssl.truststore.type=PEM``, and
    ``ssl.truststore.location`` or ``ssl.truststore.certificates``. A file is read again when it
    changes; a broker reads it at its start.

    Source: ``JaasOptionsUtils.createSSLSocketFactory`` of kafka-clients 4.3.1.
    """
    options = _options(settings)
    key = settings.full_name(SASL_JAAS_CONFIG)
    others = sorted(options.keys() - {TYPE, LOCATION, CERTIFICATES})
    if others:
        allowed = f"{TYPE}, {LOCATION}, {CERTIFICATES}"
        raise ValueError(
            f"{key}: found the option {others[0]}; allowed options that begin with ssl.: {allowed}"
        )
    kind = options.get(TYPE, "JKS")
    if options and kind.upper() != "PEM":
        raise ValueError(f"{key}: {TYPE}: found {kind}; allowed here: PEM")
    if options and (LOCATION in options) == (CERTIFICATES in options):
        raise ValueError(f"{key}: give either {LOCATION} or {CERTIFICATES}")
    try:
        context = ssl.create_default_context(
            cafile=options.get(LOCATION), cadata=options.get(CERTIFICATES)
        )
    except (ssl.SSLError, TypeError):
        # Non-ASCII PEM raises TypeError.
        source = options.get(LOCATION, CERTIFICATES)
        raise ValueError(f"{key}: {source}: contains no PEM certificate") from None
    except OSError as error:
        raise ValueError(f"{key}: {options[LOCATION]}: {error.strerror}") from None
    # Java's rules on every Python. The first is set since 3.13: it rejects certificates without an
    # Authority Key Identifier, which many private authorities issue. The second is not before 3.13:
    # without it an authority below a root is not trusted.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


# --- documents of a provider


def new_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=FETCH_S), auto_decompress=False, trust_env=False
    )


async def read_document(
    session: aiohttp.ClientSession,
    url: str,
    tls: ssl.SSLContext | None,
    form: Mapping[str, str] | None = None,
    **headers: str,
) -> bytes:
    """Return a document of a provider, or its answer to a form; ``cause_of`` has the errors."""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", **headers}
    async with session.request(
        "GET" if form is None else "POST",
        url,
        data=form,
        headers=headers,
        # A redirect could lead from HTTPS to HTTP, or to an internal host.
        allow_redirects=False,
        ssl=True if tls is None else tls,
    ) as response:
        if response.status != HTTPStatus.OK:
            raise ValueError(f"found status {response.status}; allowed: 200")
        data = bytearray()
        async for chunk in response.content.iter_chunked(65536):
            data += chunk
            if len(data) > JWKS_BYTES_MAX:
                raise ValueError(f"found more than {JWKS_BYTES_MAX} bytes")
        return bytes(data)


def redact_url(url: str) -> str:
    """Return a URL for logs: without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def cause_of(error: Exception) -> str:
    """Return why a document could not be read; the text of some errors contains the whole URL."""
    if isinstance(error, TimeoutError):
        return f"no response within {FETCH_S:g} s"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "unknown reason")
        return f"the server's certificate is not trusted: {reason}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    # Some of aiohttp's errors are of both kinds.
    if isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientError):
        return str(error)
    return type(error).__name__
