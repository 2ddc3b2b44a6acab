"""The pytest plugin: fixtures, a marker, and ini keys; see docs/how-to/testing.md.

It imports the server only if a test needs one, and then before the first test runs: a test waits
for its server to start, not for imports.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper import testing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from doorkeeper.testing.options import Options
    from doorkeeper.testing.process import DoorkeeperProcess
    from doorkeeper.testing.server import DoorkeeperServer

MARKER = "doorkeeper"
_POOL = pytest.StashKey["list[DoorkeeperServer]"]()
_ONE = "doorkeeper_server"
_MANY = "doorkeeper_servers"

_INI = (
    ("users", "linelist", "users that may log in, one per line: name=password"),
    ("acls", "string", "a file of ACLs, relative to the ini file"),
    ("topics", "args", "existing topics"),
    ("super_users", "linelist", "principals that may do everything"),
    ("principals", "linelist", "other principals that the tests use"),
    ("listeners", "args", "PLAINTEXT, SASL_PLAINTEXT, SSL, SASL_SSL, MTLS"),
    ("mechanisms", "args", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
    ("kafka", "string", "the Kafka release whose API versions are served, such as 2.8"),
    ("properties", "linelist", "other keys of server.properties, one per line: key=value"),
    ("allow_everyone", "bool", "allow operations on resources without ACLs"),
    ("records", "bool", "serve producers and consumers, with records kept in memory"),
    ("learn", "bool", "allow everything, and record it for least_acls"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, kind, help_text in _INI:
        text = f"doorkeeper_server: {help_text}"
        parser.addini(f"doorkeeper_{name}", text, type=kind, default=None)  # type: ignore[arg-type]
    parser.getgroup("doorkeeper").addoption(
        "--doorkeeper-kafka",
        metavar="RELEASE",
        help="doorkeeper_server: the Kafka release whose API versions are served; overrides the"
        " ini file",
    )


def pytest_configure(config: pytest.Config) -> None:
    text = "(users={}, acls=[], ...): what doorkeeper_server starts with in this test"
    config.addinivalue_line("markers", f"{MARKER}{text}")
    config.stash[_POOL] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    """Import the server if collected tests need it."""
    if session.config.option.collectonly:
        return
    asked = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    # With a missing module only the tests that need it fail.
    with suppress(ImportError):
        if asked & {_ONE, _MANY}:
            _ = testing.DoorkeeperServer
        if _MANY in asked:
            _ = testing.DoorkeeperProcess


def pytest_unconfigure(config: pytest.Config) -> None:
    for server in config.stash.get(_POOL, []):
        server.close()


class Servers:
    """Starts servers, and stops them at the end of the test."""

    def __init__(self, defaults: Options) -> None:
        """``defaults`` come from ini file and command line."""
        self._defaults = defaults
        self._servers: list[DoorkeeperServer | DoorkeeperProcess] = []

    def __call__(self, **options: Unpack[Options]) -> DoorkeeperServer:
        """Start a server in this process."""
        server = testing.DoorkeeperServer(**(self._defaults | options))
        self._servers.append(server)
        server.start()
        return server

    def process(self, **options: Unpack[Options]) -> DoorkeeperProcess:
        """Start a server in a process of its own."""
        server = testing.DoorkeeperProcess(**(self._defaults | options))
        self._servers.append(server)
        server.start()
        return server

    def close(self) -> None:
        """Stop all, the last one first."""
        while self._servers:
            self._servers.pop().close()


@pytest.fixture
def doorkeeper_server(request: pytest.FixtureRequest) -> Iterator[DoorkeeperServer]:
    """Provide a server in this process, new for each test.

    Ini file, command line and markers configure it.
    """
    config = request.config
    options = usual_options(config)
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        if marker.args:
            pytest.fail(
                "the marker doorkeeper accepts keywords only, such as users={...}", pytrace=False
            )
        options = {**options, **marker.kwargs}
    server = _server_of(config.stash[_POOL], options)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def doorkeeper_servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Provide a function that starts servers, for tests with several or with other options."""
    servers = Servers(usual_options(request.config))
    yield servers
    servers.close()


def _server_of(pool: list[DoorkeeperServer], options: Options) -> DoorkeeperServer:
    """Return a stopped server; certificates and credentials are created once in a run."""
    try:
        new_server = testing.DoorkeeperServer(**options)
    except (TypeError, ValueError, OSError) as error:
        pytest.fail(f"doorkeeper_server: {error}", pytrace=False)
    for server in pool:
        if not server.is_running and server.configuration == new_server.configuration:
            return server
    pool.append(new_server)
    return new_server


def usual_options(config: pytest.Config) -> Options:
    """Return the options of the command line and the ini file; files are relative to the latter."""
    options: dict[str, Any] = {}
    for name, _, _ in _INI:
        value = config.getini(f"doorkeeper_{name}")
        if value in (None, "", []):
            continue
        if name == "acls":
            value = (config.inipath or config.rootpath / "ini").parent / value
        elif name in ("users", "properties"):
            value = dict(_pair(name, line) for line in value)
        options[name] = value
    kafka = config.getoption("--doorkeeper-kafka")
    if kafka is not None:
        options["kafka"] = kafka
    return options  # type: ignore[return-value]


def _pair(name: str, line: str) -> tuple[str, str]:
    key, sign, value = line.partition("=")
    if not sign:
        raise pytest.UsageError(f"doorkeeper_{name}: found a line without =; expected: key=value")
    return key.strip(), value.strip()
