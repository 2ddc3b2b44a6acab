"""What stands before a callback handler."""

from __future__ import annotations

import asyncio

import pytest

from doorkeeper.plugins import AuthenticationContext
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.config.sasl_keys import (
    SASL_CHECK_TIMEOUT_MS,
    SASL_CHECKS_MAX,
    SASL_SERVER_CALLBACK_HANDLER_CLASS,
)
from doorkeeper.server.security.guarded_handler import GuardedHandler, HandlerFault
from doorkeeper.server.security.handlers_contract import TokenRefused
from testkit.callback_handlers import Recorded
from testkit.edge import until
from testkit.loop_clock import time_by_hand
from testkit.recording_logger import RecordingLogger

CONTEXT = AuthenticationContext("A", "SASL_PLAINTEXT", "10.0.0.7")


class Guarded:
    """A guarded handler, and what it logs."""

    def __init__(self, *, timeout_s: float = 30, at_once: int = 2, **configs: str) -> None:
        self.logger = RecordingLogger()
        self.handler = Recorded()
        self.handler.configure({k.replace("_", "."): v for k, v in configs.items()}, "PLAIN", {})
        settings = MechanismSettings(
            name="PLAIN",
            listener_name="A",
            values={
                SASL_SERVER_CALLBACK_HANDLER_CLASS.name: "a.Class",
                SASL_CHECK_TIMEOUT_MS.name: str(round(timeout_s * 1000)),
                SASL_CHECKS_MAX.name: str(at_once),
            },
            given_as={SASL_SERVER_CALLBACK_HANDLER_CLASS.name: "the.key"},
        )
        self.guard = GuardedHandler(self.handler, settings, self.logger)

    async def check(self, name: str, password: str) -> bool:
        check = self.handler.check
        return await self.guard.call_handler(
            lambda: check(name, password, CONTEXT), bool, CONTEXT, secret=password
        )


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("raise", "ConnectionError: no connection for raise"),
        ("tell", "ValueError, whose text contains the secret"),
        ("exit", "RuntimeError: it raised SystemExit"),
        ("none", "returned NoneType; expected: bool"),
    ],
)
async def test_invalid_handler_result_is_logged(name: str, cause: str) -> None:
    guarded = Guarded(at_once=1)

    with pytest.raises(HandlerFault) as fault:
        await guarded.check(name, "hush-hush")

    assert str(fault.value) == f"a.Class: {cause}"
    assert guarded.logger.lines == [
        (
            "warning",
            "a callback handler failed: the authentication is rejected",
            {
                "handler": "a.Class",
                "mechanism": "PLAIN",
                "listener": "A",
                "client_address": "10.0.0.7",
                "cause": cause,
            },
        )
    ]
    assert await guarded.check("a", "aa")


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("s" * 300, "s" * 300),
        ("two  blanks", "found two  blanks"),
        ("it's a 'quote\\", repr("it's a 'quote\\")),
        ("head-of-it.body-of-it.sign", "the part body-of-it is odd"),
    ],
    ids=["long", "blanks", "quoted", "part"],
)
async def test_error_cause_hides_secrets(secret: str, text: str) -> None:
    guarded = Guarded()

    async def fail() -> bool:
        raise ValueError(text)

    async def refuse() -> bool:
        raise TokenRefused(text)

    with pytest.raises(HandlerFault, match="ValueError, whose text contains the secret"):
        await guarded.guard.call_handler(fail, bool, CONTEXT, secret)
    with pytest.raises(TokenRefused) as refused:
        await guarded.guard.call_handler(refuse, bool, CONTEXT, secret)

    assert str(refused.value) == "TokenRefused, whose text contains the secret"


async def test_slow_handler_times_out() -> None:
    guarded = Guarded(timeout_s=5, at_once=1)

    with time_by_hand() as clock:
        late = asyncio.create_task(guarded.check("slow", "x"))
        await until(lambda: bool(guarded.handler.asked))
        clock.now_s += 5
        with pytest.raises(HandlerFault, match=r"no response within 5 s"):
            await late

        await asyncio.sleep(0)
        assert await guarded.check("a", "aa")


async def test_queueing_counts_toward_the_timeout() -> None:
    guarded = Guarded(timeout_s=5, at_once=1)

    with time_by_hand() as clock:
        both = asyncio.gather(
            guarded.check("slow", "x"), guarded.check("a", "aa"), return_exceptions=True
        )
        await until(lambda: bool(guarded.handler.asked))
        await asyncio.sleep(0)
        clock.now_s += 5
        outcomes = await both

    assert [str(outcome) for outcome in outcomes] == [
        "a.Class: no response within 5 s",
        "a.Class: doorkeeper.sasl.checks.max calls are already running",
    ]
    assert guarded.handler.asked == ["slow@10.0.0.7"]


async def test_disconnect_cancels_the_call() -> None:
    guarded = Guarded(at_once=1)
    leaving = asyncio.create_task(guarded.check("slow", "x"))
    await asyncio.sleep(0.001)

    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving

    assert await guarded.check("a", "aa")


async def test_hanging_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorkeeper.server.security.guarded_handler.START_S", 0.01)
    guarded = Guarded(twice_wait="true")

    with pytest.raises(ValueError, match=r"the\.key=a\.Class failed to start in 0\.01 s"):
        await guarded.guard.start()


async def test_start_failure_names_the_key() -> None:
    guarded = Guarded(twice_stay="1")

    with pytest.raises(
        ValueError, match=r"^the\.key=a\.Class failed to start: ConnectionError: nobody there$"
    ):
        await guarded.guard.start()


async def test_hanging_close_is_reported() -> None:
    guarded = Guarded(twice_cling="1")

    await guarded.guard.close()

    assert guarded.logger.lines == [
        (
            "warning",
            "a callback handler did not close",
            {"handler": "a.Class", "cause": "RuntimeError: not yet"},
        )
    ]
