"""The plugin of pytest: fixtures, a marker, and keys of the ini file; docs/testing.md.

It imports nothing of the server unless a test asks for one, and then before the first test runs: a
test waits for its server to start, not for modules.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

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
    ("users", "linelist", "who may log in, a line each: name=password"),
    ("acls", "string", "a file with ACLs, beside the ini file"),
    ("catalog", "string", "a catalog file with topics and groups, beside the ini file"),
    ("super_users", "linelist", "principals that may do everything"),
    ("listeners", "args", "PLAINTEXT, SASL_PLAINTEXT, SSL, SASL_SSL, MTLS"),
    ("mechanisms", "args", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
    ("properties", "linelist", "other keys of server.properties, a line each: key=value"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the keys of the ini file."""
    for name, kind, text in _INI:
        what = f"doorkeeper_server: {text}"
        parser.addini(f"doorkeeper_{name}", what, type=kind, default=None)  # type: ignore[arg-type]
    what = "doorkeeper_server: allow what no ACL covers"
    parser.addini("doorkeeper_allow_everyone", what, type="bool", default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    text = "(users={}, acls=[], ...): what doorkeeper_server begins with in this test"
    config.addinivalue_line("markers", f"{MARKER}{text}")
    config.stash[_POOL] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    """Import the server where a test that is to run asks for one, beside for processes too."""
    if session.config.option.collectonly:
        return
    asked = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    # Where something is missing, those tests say so, and the others run.
    with suppress(ImportError):
        if _MANY in asked:
            from doorkeeper.testing.forking import FORKING  # noqa: PLC0415

            FORKING.prepare()
        if asked & {_ONE, _MANY}:
            from doorkeeper.testing import DoorkeeperServer  # noqa: F401, PLC0415
        if _MANY in asked:
            from doorkeeper.testing import DoorkeeperProcess  # noqa: F401, PLC0415


def pytest_unconfigure(config: pytest.Config) -> None:
    """End all servers."""
    for server in config.stash.get(_POOL, []):
        server.close()


class Servers:
    """Starts servers, and ends them with the test. What is not given is as in the ini file."""

    def __init__(self, defaults: Options) -> None:
        """Begin without any."""
        self._defaults = defaults
        self._made: list[DoorkeeperServer | DoorkeeperProcess] = []

    def __call__(self, **options: Unpack[Options]) -> DoorkeeperServer:
        """Start one in this process."""
        from doorkeeper.testing import DoorkeeperServer  # noqa: PLC0415

        server = DoorkeeperServer(**merged(self._defaults, options))
        self._made.append(server)
        server.start()
        return server

    def process(self, **options: Unpack[Options]) -> DoorkeeperProcess:
        """Start one in a process of its own."""
        from doorkeeper.testing.process import DoorkeeperProcess  # noqa: PLC0415

        server = DoorkeeperProcess(**merged(self._defaults, options))
        self._made.append(server)
        server.start()
        return server

    def close(self) -> None:
        """End them, the last one first."""
        while self._made:
            self._made.pop().close()


@pytest.fixture
def doorkeeper_server(request: pytest.FixtureRequest) -> Iterator[DoorkeeperServer]:
    """Give a server in this process, as ini file and markers want it, and new for each test."""
    config = request.config
    options = ini_options(config)
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        if marker.args:
            pytest.fail("the marker doorkeeper takes keywords only: users={...}", pytrace=False)
        options = merged(options, marker.kwargs)
    server = _pooled(config.stash[_POOL], options)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def doorkeeper_servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Give a function that starts servers, for tests that need several or change their options."""
    servers = Servers(ini_options(request.config))
    yield servers
    servers.close()


def _pooled(pool: list[DoorkeeperServer], options: Options) -> DoorkeeperServer:
    """Return a stopped server: its certificates and credentials are made once in a run."""
    from doorkeeper.testing import DoorkeeperServer  # noqa: PLC0415

    try:
        wanted = DoorkeeperServer(**options)
    except (TypeError, ValueError, OSError) as error:
        pytest.fail(f"doorkeeper_server: {error}", pytrace=False)
    for server in pool:
        if not server.is_running and server.configuration == wanted.configuration:
            return server
    pool.append(wanted)
    return wanted


def merged(options: Options, others: Options) -> Options:
    """Return options with others over them; topics and groups take the place of a catalog."""
    result: dict[str, Any] = {**options}
    if "catalog" in others:
        result.pop("topics", None)
        result.pop("groups", None)
    elif "topics" in others or "groups" in others:
        result.pop("catalog", None)
    return {**result, **others}  # type: ignore[typeddict-item]


def ini_options(config: pytest.Config) -> Options:
    """Return the options of the ini file; files are looked for beside it."""
    found: dict[str, Any] = {}
    for name in (*(each for each, _, _ in _INI), "allow_everyone"):
        value = config.getini(f"doorkeeper_{name}")
        if value in (None, "", []):
            continue
        if name in ("acls", "catalog"):
            value = (config.inipath or config.rootpath / "ini").parent / value
        elif name in ("users", "properties"):
            value = dict(_pair(name, line) for line in value)
        found[name] = value
    return found  # type: ignore[return-value]


def _pair(name: str, line: str) -> tuple[str, str]:
    key, sign, value = line.partition("=")
    if not sign:
        raise pytest.UsageError(f"doorkeeper_{name}: found a line without =; expected is key=value")
    return key.strip(), value.strip()
