"""The URL of a shared store: what is allowed in it, and that nobody sees its password."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.config.shared_store import password_in
from doorkeeper.server.config.store_keys import STORE_MAX_AGE_MS
from testkit.settings import problems_of, settings_of
from testkit.shared_stores import store_of

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "p4ssw0rd"


def problems_with(url: str, *lines: str) -> str:
    """Return the problems of a file with a store, without the place before each."""
    return "\n".join(problems_of("\n".join((f"doorkeeper.store={url}", "node.id=1", *lines))))


def test_store_is_embedded_by_default() -> None:
    assert settings_of("").store is None
    assert settings_of("doorkeeper.store=embedded").store is None


@pytest.mark.parametrize(
    ("url", "plain", "shown"),
    [
        ("postgresql://u@h/d", ["postgresql://u@h/d"], "postgresql://h/d"),
        ("postgres://u@h:5433/d", ["postgresql://u@h:5433/d"], "postgresql://h:5433/d"),
        (
            f"postgresql://u:{SECRET}@h:1,[::1]:2,h3/d?sslmode=require",
            [f"postgresql://u@{host}/d?sslmode=require" for host in ("h:1", "[::1]:2", "h3")],
            "postgresql://h:1,[::1]:2,h3/d",
        ),
        (
            "postgresql://u@/d?host=/run/postgresql",
            ["postgresql://u@/d?host=/run/postgresql"],
            "postgresql:///run/postgresql/d",
        ),
        ("postgresql://a%40b@h/d%2Fe", None, None),
        ("postgresql://a%40b@h/d", ["postgresql://a%40b@h/d"], "postgresql://h/d"),
    ],
)
def test_store_url_is_parsed(url: str, plain: list[str] | None, shown: str | None) -> None:
    if plain is None:
        assert "a user and a database must be named" in problems_with(url)
        return
    found = store_of(url)

    assert (list(found.urls), found.display_name) == (plain, shown)


def test_password_is_kept_separately() -> None:
    settings = settings_of("node.id=1\ndoorkeeper.store=postgresql://u:p4ssw0rd%2F%40@h/d")
    found = settings.store

    assert found is not None
    assert found.password is not None
    assert str.__str__(found.password) == "p4ssw0rd/@"
    assert SECRET not in repr(found) + repr(settings)
    described = {each.name: each.value for each in settings.describe()}
    assert described["doorkeeper.store"] == "postgresql://[hidden]@h/d"
    assert found.urls == ("postgresql://u@h/d",)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("mysql://u:{}@h/d", "allowed: embedded, or postgresql://user@host:port/database"),
        ("postgresql://h/d", "a user and a database must be named"),
        ("postgresql://u:{}@h", "a user and a database must be named"),
        ("postgresql://u:{}@/d", "or ?host=/folder/of/the/socket"),
        ("postgresql://u:{}@/d?host=h", "or ?host=/folder/of/the/socket"),
        ("postgresql://u:{}@h/d?host=/run", "the host is given twice"),
        ("postgresql://u:{}@x@h/d", "must be written %XX"),
        ("postgresql://u:{}#x@h/d", "must be written %XX"),
        ("postgresql://u:{}@h:0/d", "found the host 'h:0'"),
        ("postgresql://u:{}@h,,g/d", "found the host ''"),
        ("postgresql://u:{}@[::1/d", "allowed: embedded"),
        ("postgresql://u:{}@h/d?sslmode", "allowed after ?: name=value"),
        ("postgresql://u:{}@h/d?sslmod=verify-full", "found ?sslmod=; allowed: sslmode, "),
        (
            "postgresql://u@h/d?password={}",
            "not allowed as a parameter; use doorkeeper.store.password.file",
        ),
        ("postgresql://u:{}@h/d?sslmode=yes", "found sslmode=yes; allowed: disable, allow"),
        ("postgresql://u:{}@h/d?sslmode=verify-ca", "sslmode=verify-ca requires sslrootcert"),
        ("postgresql://u:{}@h/d?sslcert=/x", "sslcert and sslkey must be given together"),
        ("postgresql://u:{}@h/d?sslmode=disable&sslcrl=/x", "cannot be combined with TLS files"),
        ("postgresql://u:{}@h/d?sslrootcert=/x", "sslmode=prefer does not use sslrootcert"),
        ("postgresql://u:{}@h/d?sslmode=allow&sslcrl=/x", "sslmode=allow does not use sslcrl"),
    ],
)
def test_invalid_url_error_hides_the_password(url: str, text: str) -> None:
    found = problems_with(url.format(SECRET))

    assert text in found
    assert "doorkeeper.store" in found
    assert SECRET not in found


def test_shared_store_requires_a_node_id() -> None:
    """A shared store demands node.id, or broker.id; alone a node is 1."""
    url = "doorkeeper.store=postgresql://u@h/d"

    assert any("requires its own id" in each for each in problems_of(url))
    assert problems_of(f"{url}\nbroker.id=0") == []
    assert problems_of(f"{url}\nnode.id=0") == []


def test_session_timeout_exceeds_heartbeat_interval() -> None:
    lines = ("broker.session.timeout.ms=500", "broker.heartbeat.interval.ms=500")

    assert "more than broker.heartbeat.interval.ms" in problems_with("postgresql://u@h/d", *lines)
    assert problems_of("\n".join(lines)) == []


def test_password_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\r\n# a note\n")

    found = store_of("postgresql://u@h/d", f"doorkeeper.store.password.file={file}")

    assert found.password is None
    assert found.password_file == file
    assert password_in(file) == SECRET


def test_unusable_files_stop_the_start(tmp_path: Path) -> None:
    empty, binary, good = (tmp_path / name for name in ("empty", "binary", "good"))
    empty.touch()
    binary.write_bytes(b"\xff\xfe")
    good.write_text(SECRET)
    key = "doorkeeper.store.password.file"

    def told(file: Path, url: str = "postgresql://u@h/d") -> str:
        return problems_with(url, f"{key}={file}")

    assert "the file is empty" in told(empty)
    assert "is not UTF-8" in told(binary)
    assert "cannot read: No such file" in told(tmp_path / "none")
    assert "both the URL and doorkeeper.store.password.file" in told(
        good, f"postgresql://u:{SECRET}@h/d"
    )
    assert "the embedded store has no password" in told(good, "embedded")


def test_lease_timeout_has_a_minimum() -> None:
    key = "doorkeeper.store.lease.timeout.ms"
    url = "postgresql://u@h/d"

    assert store_of(url).lease_timeout_ms == 3_000
    assert store_of(url, f"{key}=500").lease_timeout_ms == 500
    assert key in problems_with(url, f"{key}=99")


def test_state_age_limit_has_a_minimum() -> None:
    """-1 is no limit; one below two readings of the store would deny between them."""
    key = "doorkeeper.store.max.age.ms"

    assert settings_of("")[STORE_MAX_AGE_MS] == -1
    assert settings_of(f"{key}=60000")[STORE_MAX_AGE_MS] == 60_000
    for value in (-2, 0, 1999):
        found = problems_with("postgresql://u@h/d", f"{key}={value}")
        assert "-1, or a whole number from 2000 to" in found
