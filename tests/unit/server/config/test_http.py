"""The operations port as the configuration describes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from doorkeeper.server.config.http import HttpSettings
from testkit.settings import problems_of, settings_of

LISTENER = "doorkeeper.http.listener"
PAIR = "doorkeeper.http.certificate.file=c.pem\ndoorkeeper.http.key.file=k.pem\n"
TOKENS = "doorkeeper.http.tokens.file=t\n"
USERS = "doorkeeper.http.users.file=u\n"


def http_of(text: str) -> HttpSettings | None:
    return settings_of(text).http


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://127.0.0.1:9404", "127.0.0.1", 9404),
        ("http://127.9.9.9:1/", "127.9.9.9", 1),
        ("http://localhost:0", "localhost", 0),
        ("http://[::1]:9404", "::1", 9404),
    ],
)
def test_loopback_needs_no_tls_or_login(url: str, host: str, port: int) -> None:
    http = http_of(f"{LISTENER}={url}")

    assert http == HttpSettings(host=host, port=port)
    assert (http.is_encrypted, http.has_login) == (False, False)
    assert http.url == url.rstrip("/")


@pytest.mark.parametrize("login", [TOKENS, USERS, TOKENS + USERS])
def test_reachable_address_with_tls_and_login(login: str) -> None:
    http = http_of(f"{LISTENER}=https://0.0.0.0:9404\n{PAIR}{login}")

    assert http is not None
    assert (http.is_encrypted, http.has_login) == (True, True)
    assert (http.certificate_file, http.key_file) == (Path("c.pem"), Path("k.pem"))


@pytest.mark.parametrize("host", ["0.0.0.0", "[2001:db8::1]", "node-1"])
@pytest.mark.parametrize(
    ("scheme", "given", "told"),
    [
        ("http", "", ["requires https", "requires a login"]),
        ("http", TOKENS, ["requires https"]),
        ("https", PAIR, ["requires a login"]),
    ],
)
def test_reachable_address_requires_tls_and_login(
    host: str, scheme: str, given: str, told: list[str]
) -> None:
    problems = problems_of(f"{LISTENER}={scheme}://{host}:9404\n{given}")

    assert len(problems) == len(told)
    for problem, text in zip(problems, told, strict=True):
        assert LISTENER in problem
        assert f"this address is reachable from other machines and {text}" in problem


@pytest.mark.parametrize(
    "url",
    [
        *("9404", "127.0.0.1:9404", "ftp://127.0.0.1:9404", "http://127.0.0.1", "http://:9404"),
        *("http://127.0.0.1:99999", "http://127.0.0.1:x", "http://127.0.0.1:9404/metrics"),
        *("http://127.0.0.1:9404?x=1", "http://127.0.0.1:9404#x", "http://[::1:9404"),
    ],
)
def test_invalid_address_is_rejected(url: str) -> None:
    (problem,) = problems_of(f"{LISTENER}={url}")

    assert f"found {url!r}; allowed: http://127.0.0.1:9404, or https://host:port" in problem


def test_login_in_url_is_hidden() -> None:
    (problem,) = problems_of(f"{LISTENER}=http://user:secret@127.0.0.1:9404")

    assert "secret" not in problem
    assert "found a URL with a login" in problem


def test_https_requires_certificate_and_key() -> None:
    here = f"{LISTENER}=https://127.0.0.1:9404\n"
    clear = f"{LISTENER}=http://127.0.0.1:9404\n"

    assert len(problems_of(here)) == 2
    (missing,) = problems_of(f"{here}doorkeeper.http.certificate.file=c.pem")
    assert missing.endswith("https requires doorkeeper.http.key.file")
    unused = problems_of(clear + PAIR)
    assert [each.endswith("is not https") for each in unused] == [True, True]


def test_files_without_listener_are_rejected() -> None:
    (problem,) = problems_of(TOKENS)

    assert problem.endswith(f"has no effect without {LISTENER}")
