"""The plugin of pytest, in runs of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

# A run in this process takes out again what it has imported, and yaml's C code goes in only once.
import yaml  # noqa: F401

pytest_plugins = ("pytester",)

ORDERS = '{"resourceType": "TOPIC", "name": "orders", "principal": "User:a", "operation": "READ"}'

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs tests with this plugin and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def do(text: str, ini: str = "", *words: str) -> pytest.RunResult:
        pytester.makeini(f"[pytest]\naddopts = --strict-markers\n{ini}")
        pytester.makepyfile(text)
        return pytester.runpytest_inprocess("-p", "doorkeeper.testing.plugin", *words)

    return do


def test_each_test_has_a_clean_server(run: Run) -> None:
    """What one test changes, the next one does not see; nor a fault that was left."""
    result = run(
        f"""
        import pytest

        @pytest.mark.doorkeeper(acls=[{ORDERS}])
        @pytest.mark.parametrize("number", range(5))
        def test_it(doorkeeper_server, number):
            assert len(doorkeeper_server.acls()) == 1
            assert doorkeeper_server.allows("User:a", "READ", topic="orders")
            assert not doorkeeper_server.faults.strikes.__self__._active
            doorkeeper_server.clear()
            doorkeeper_server.faults.drop("CreateAcls").__enter__()
        """
    )

    result.assert_outcomes(passed=5)


def test_markers_are_merged(run: Run) -> None:
    result = run(
        f"""
        import pytest

        pytestmark = pytest.mark.doorkeeper(users={{"a": "1"}}, acls=[{ORDERS}])

        @pytest.mark.doorkeeper(users={{"a": "1", "b": "2"}})
        class TestIt:
            def test_class(self, doorkeeper_server):
                assert doorkeeper_server.client_config("b").password == "2"
                assert len(doorkeeper_server.acls()) == 1

            @pytest.mark.doorkeeper(acls=[])
            def test_own(self, doorkeeper_server):
                assert doorkeeper_server.client_config("b").password == "2"
                assert doorkeeper_server.acls() == []

        def test_module(doorkeeper_server):
            assert doorkeeper_server.client_config("a").password == "1"
        """
    )

    result.assert_outcomes(passed=3)


def test_ini_file_sets_defaults(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", acls=f"version: 1\nacls:\n- {ORDERS}\n")
    result = run(
        """
        def test_it(doorkeeper_server):
            given = doorkeeper_server.configuration
            assert given.users == {"admin": "admin-secret", "alice": "a=b", "bob": "c"}
            assert given.listeners == ("SASL_PLAINTEXT", "PLAINTEXT")
            assert given.mechanisms == ("PLAIN",)
            assert given.super_users == ("User:root",)
            assert given.allow_everyone
            assert given.properties == {"num.partitions": "4"}
            assert len(doorkeeper_server.acls()) == 1
            assert given.topics == ({"name": "orders"}, {"name": "payments"})
        """,
        """
doorkeeper_users =
    alice = a=b
    bob=c
doorkeeper_acls = acls.yaml
doorkeeper_topics = orders payments
doorkeeper_listeners = SASL_PLAINTEXT PLAINTEXT
doorkeeper_mechanisms = PLAIN
doorkeeper_super_users = User:root
doorkeeper_principals =
    User:root
    User:a
doorkeeper_allow_everyone = true
doorkeeper_properties = num.partitions=4
""",
    )

    result.assert_outcomes(passed=1)


def test_factory_starts_several_servers(run: Run) -> None:
    result = run(
        f"""
        kept = []

        def test_it(doorkeeper_servers):
            kept.append(doorkeeper_servers(acls=[{ORDERS}]))
            kept.append(doorkeeper_servers(users={{"alice": "pw"}}))
            kept.append(doorkeeper_servers.process(acls=[{ORDERS}]))
            assert [len(each.acls()) for each in kept] == [1, 0, 1]

        def test_afterwards():
            assert [each.is_running for each in kept] == [False, False, False]
        """
    )

    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "text"),
    [
        ("listeners=['TLS']", "*listener: found 'TLS'; allowed: PLAINTEXT*"),
        ("user={}", "*unknown option: user; allowed: users,*"),
        ("{}", "*the marker doorkeeper accepts keywords only*"),
    ],
)
def test_invalid_option_is_one_line(run: Run, marker: str, text: str) -> None:
    result = run(
        f"""
        import pytest

        @pytest.mark.doorkeeper({marker})
        def test_it(doorkeeper_server):
            pass
        """
    )

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([text])
    result.stdout.no_fnmatch_line("*Traceback*")


IMPORTED = """
import sys
import pytest

def pytest_itemcollected():
    print("collecting:", "doorkeeper.server.app.assembly" in sys.modules)

@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop():
    print("running:", "doorkeeper.server.app.assembly" in sys.modules)
    return (yield)
"""


def test_server_is_imported_before_the_first_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(IMPORTED)
    pytester.makepyfile("def test_it(doorkeeper_server): pass\ndef test_other(): pass")

    for words, imported in (((), True), (("-k", "other"), False)):
        result = pytester.runpytest_subprocess("-s", "-p", "doorkeeper.testing.plugin", *words)

        assert result.ret == pytest.ExitCode.OK
        assert "collecting: False" in result.outlines
        assert f"running: {imported}" in result.outlines


def test_plugin_imports_no_server() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import doorkeeper.testing.plugin;"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["doorkeeper", "doorkeeper.testing", "doorkeeper.testing.plugin"]


MEETS = """
        def test_it(doorkeeper_server):
            assert doorkeeper_server.configuration.kafka == "{}"
"""
MARKED = """
        import pytest

        @pytest.mark.doorkeeper(kafka="3.3")
        def test_it(doorkeeper_server):
            assert doorkeeper_server.configuration.kafka == "3.3"
"""


@pytest.mark.parametrize(
    ("text", "ini", "words"),
    [
        (MEETS.format(""), "", ()),
        (MEETS.format("2.8"), "doorkeeper_kafka = 2.8", ()),
        (MEETS.format("3.0"), "doorkeeper_kafka = 2.8", ("--doorkeeper-kafka=3.0",)),
        (MARKED, "doorkeeper_kafka = 2.8", ("--doorkeeper-kafka=3.0",)),
    ],
)
def test_marker_overrides_command_line_and_ini_file(
    run: Run, text: str, ini: str, words: tuple[str, ...]
) -> None:
    result = run(text, ini, *words)

    result.assert_outcomes(passed=1)


def test_invalid_release_is_one_line(run: Run) -> None:
    result = run(MEETS.format(""), "", "--doorkeeper-kafka=2.9")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*doorkeeper_server: kafka: found '2.9'; allowed: a Kafka*"])
