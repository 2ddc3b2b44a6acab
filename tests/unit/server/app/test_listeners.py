"""How clients of a listener prove who they are."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.app.errors import StartError
from doorkeeper.server.app.listeners import ServerSecurity, tls_settings_of
from doorkeeper.server.security.contract import AuthenticationContext, Success
from doorkeeper.server.security.tls.listener_tls import ListenerTls
from testkit.certificates import world
from testkit.plain import NO_SOURCES
from testkit.recording_logger import RecordingLogger
from testkit.settings import settings_of
from testkit.watched_mechanism import EVENTS, FAULTS, ISSUER, MECHANISM, use

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.net.options import ConnectionSecurity


def test_listeners_use_their_own_tls_keys(tmp_path: Path) -> None:
    server = world().server.write_pem(tmp_path / "server.pem")
    a, b = settings_of(
        f"""
listeners=A://localhost:9092,B://localhost:9093
listener.security.protocol.map=A:SSL,B:SSL
inter.broker.listener.name=A
ssl.keystore.type=PEM
ssl.keystore.location={server}
listener.name.b.ssl.keystore.location={tmp_path / "missing.pem"}
listener.name.b.ssl.client.auth=none
"""
    ).listeners

    log = RecordingLogger()
    assert ListenerTls(tls_settings_of(a), log).context.get_ciphers()
    with pytest.raises(ValueError, match=r"^listener\.name\.b\.ssl\.keystore\.location: "):
        ListenerTls(tls_settings_of(b), log)
    assert tls_settings_of(a) != tls_settings_of(b)


CONTEXT = AuthenticationContext("A", "SASL_PLAINTEXT", "127.0.0.1")


def settings(*issuers: str, more: str = "") -> Settings:
    """Return listeners A, B and so on, whose mechanisms have these names; empty: the first."""
    names = "ABC"[: len(issuers)]
    lines = [
        "listeners=" + ",".join(f"{name}://localhost:{n}" for n, name in enumerate(names, 1)),
        "listener.security.protocol.map=" + ",".join(f"{name}:SASL_PLAINTEXT" for name in names),
        f"sasl.enabled.mechanisms={MECHANISM}",
    ]
    for name, issuer in zip(names, issuers, strict=True):
        if issuer:
            lines.append(f"listener.name.{name.lower()}.{ISSUER}={issuer}")
    return settings_of("\n".join((*lines, more)))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> RecordingLogger:
    """Give a log, with a mechanism that says what happens to it."""
    use(monkeypatch)
    return RecordingLogger()


async def prepared(doors: ServerSecurity, wanted: Settings) -> dict[str, ConnectionSecurity]:
    """Use settings as a reload does."""
    return doors.use(await doors.prepare(wanted.listeners, wanted.originals))


async def turns() -> None:
    """Let what waits for the loop have its turn."""
    for _ in range(3):
        await asyncio.sleep(0)


async def name_of(offers: ConnectionSecurity) -> str:
    """Return whose mechanism somebody gets."""
    assert offers.mechanisms is not None
    step = offers.mechanisms[MECHANISM].begin(CONTEXT).step(b"")
    assert isinstance(step, Success)
    return step.authorization_id


async def test_unchanged_listeners_continue(log: RecordingLogger) -> None:
    doors = ServerSecurity(NO_SOURCES, log)
    await prepared(doors, settings("", "b"))
    offers = await prepared(
        doors, settings("", "c", more="listener.name.a.connections.max.reauth.ms=7\n")
    )
    await turns()

    assert EVENTS == ["first starts", "b starts", "c starts", "b closes"]
    assert offers["A"].mechanisms is not None
    assert offers["A"].mechanisms[MECHANISM].max_reauth_ms == 7
    await doors.close()
    assert sorted(EVENTS[4:]) == ["c closes", "first closes"]


async def test_resources_in_use_stay_open(log: RecordingLogger) -> None:
    doors = ServerSecurity(NO_SOURCES, log)
    held = (await prepared(doors, settings("old")))["A"]
    new = (await prepared(doors, settings("new")))["A"]
    await turns()
    FAULTS.append(RuntimeError("hush"))
    await doors.refresh()
    await doors.refresh()

    assert (await name_of(held), await name_of(new)) == ("old", "new")
    assert EVENTS == ["old starts", "new starts"]
    assert [fields["problem"] for _, _, fields in log.lines] == ["Watched: RuntimeError"] * 2
    del held
    await turns()
    assert EVENTS[2:] == ["old closes"]
    await doors.close()


@pytest.mark.parametrize("second", ["wrong", "lame", "broken"])
async def test_problem_keeps_the_old_listeners(log: RecordingLogger, second: str) -> None:
    doors = ServerSecurity(NO_SOURCES, log)
    await prepared(doors, settings("", "", ""))
    EVENTS.clear()

    with pytest.raises(StartError) as caught:
        await prepared(doors, settings("new", second, "wrong"))
    await turns()

    assert len(caught.value.problems) == 2
    assert "hush" not in str(caught.value)
    assert "new closes" in EVENTS
    assert not [event for event in EVENTS if event == "first closes"]
    await doors.close()


async def test_refresh_errors_do_not_stop_the_watch(log: RecordingLogger) -> None:
    doors = ServerSecurity(NO_SOURCES, log)
    offers = await prepared(doors, settings("a"))
    FAULTS.append(RuntimeError("hush"))
    await doors.refresh()
    await doors.refresh()
    FAULTS.clear()
    await doors.refresh()

    assert log.lines == [
        (
            "error",
            "file not reloaded: the previous one stays in use",
            {"problem": "Watched: RuntimeError"},
        )
    ]
    assert await name_of(offers["A"]) == "a"
    await doors.close()


async def test_missing_thread_does_not_stop_the_watch(
    log: RecordingLogger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of processes is reached for a moment: later changes of files would not be read."""
    doors = ServerSecurity(NO_SOURCES, log)
    await prepared(doors, settings("a"))

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", start)
        await doors.refresh()
        await doors.refresh()
    await doors.refresh()

    assert [fields["problem"] for _, _, fields in log.lines] == ["can't start new thread"]
    await doors.close()


async def test_errors_of_rules_name_the_key_of_the_listener(log: RecordingLogger) -> None:
    """The key without a prefix is another one, whose line the operator would look at."""
    doors = ServerSecurity(NO_SOURCES, log)
    more = (
        "ssl.principal.mapping.rules=DEFAULT\n"
        "listener.name.p.ssl.principal.mapping.rules=RULE:(/$1/\n"
        "listeners=P://localhost:1\nlistener.security.protocol.map=P:SSL\n"
    )

    with pytest.raises(StartError) as caught:
        await prepared(doors, settings_of(more))

    name = "listener.name.p.ssl.principal.mapping.rules"
    assert [p for p in map(str, caught.value.problems) if p.startswith(f"{name}: Invalid rule")]
