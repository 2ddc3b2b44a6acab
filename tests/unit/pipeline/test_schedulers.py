"""The examples for schedulers load, and treat each exit status as the documentation says.

Airflow and Dagster are not installed here: small modules in their place record what is declared.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from testkit.checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SITE = {
    "cluster": "c",
    "logs": "/logs/*",
    "acls": "acls.txt",
    "folder": "/srv",
    "super_users": ["User:a"],
}


class Failed(Exception):
    """A failure that is not tried again unless it says so."""

    def __init__(self, text: str, *, allow_retries: bool = False) -> None:
        """Keep whether it may be tried again."""
        super().__init__(text)
        self.allow_retries = allow_retries


class Task:
    """A function that is declared as a task; calls outside of a run only connect tasks."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Keep the function, which runs the task."""
        self.run = function

    def __call__(self, *_: object, **__: object) -> Task:
        """Connect the task."""
        return self

    def __rshift__(self, other: Task) -> Task:
        """Order two tasks."""
        return other


def declare(*functions: Any, **_: object) -> Any:
    """Return a task, or the decorator that makes one."""
    return Task(functions[0]) if functions else Task


def flow(*functions: Any, **_: object) -> Any:
    """Run the function that connects tasks, as a scheduler does when it loads the file."""
    return functions[0]() or Task if functions else lambda function: function


def module(name: str, **content: object) -> ModuleType:
    """Return a module with some content."""
    made = ModuleType(name)
    made.__dict__.update(content)
    return made


@pytest.fixture(params=["airflow_dag", "dagster_job"])
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return an example, loaded, with the arguments that its tasks take before others."""
    variable = SimpleNamespace(get=lambda *_, **__: dict(SITE))
    stubs = {
        "airflow": module("airflow"),
        "airflow.sdk": module("airflow.sdk", Variable=variable, dag=flow, task=declare),
        "airflow.sdk.exceptions": module("airflow.sdk.exceptions", AirflowFailException=Failed),
        "pendulum": module("pendulum", datetime=lambda *_, **__: None),
        "dagster": module(
            "dagster",
            ConfigurableResource=SimpleNamespace,
            Definitions=SimpleNamespace,
            Failure=Failed,
            OpExecutionContext=object,
            RetryPolicy=SimpleNamespace,
            ScheduleDefinition=SimpleNamespace,
            job=flow,
            op=declare,
        ),
    }
    for name, stub in stubs.items():
        monkeypatch.setitem(sys.modules, name, stub)
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "pipeline"))
    for name in ("nightly", request.param):
        monkeypatch.delitem(sys.modules, name, raising=False)
    loaded = importlib.import_module(request.param)
    found = SimpleNamespace(nightly=sys.modules["nightly"], tasks=loaded, site=(), context=())
    if request.param == "dagster_job":
        found.site = (loaded.SiteResource(**SITE),)
        log = SimpleNamespace(info=lambda *_: None)
        found.context = (SimpleNamespace(log=log), *found.site)
    for name in ("nightly", request.param):
        monkeypatch.delitem(sys.modules, name)
    return found


def answer(example: SimpleNamespace, status: int) -> list[Sequence[str]]:
    """Have all commands end with a status; return the list in which they are recorded."""
    calls: list[Sequence[str]] = []

    def call(command: Sequence[str]) -> tuple[int, str]:
        calls.append(command)
        return status, "the reason"

    example.nightly.call = call
    return calls


@pytest.mark.parametrize(("status", "belongs"), [(0, True), (4, False)])
def test_a_night_with_tables(example: SimpleNamespace, status: int, *, belongs: bool) -> None:
    """Both statuses have the report written; one that contradicts fails after it."""
    calls = answer(example, status)

    assert example.tasks.run.run(*example.site) is belongs

    answer(example, 0)
    example.tasks.report.run(*example.context, belongs)
    assert list(calls[0][:2]) == ["doorkeeper-pipeline", "run"]
    if belongs:
        example.tasks.check_evidence.run(belongs)
    else:
        with pytest.raises(Failed, match="not enough evidence"):
            example.tasks.check_evidence.run(belongs)


@pytest.mark.parametrize("status", [2, 5])
def test_a_night_that_stays_as_it_is(example: SimpleNamespace, status: int) -> None:
    """The same files give the same result: it fails without another try."""
    answer(example, status)

    with pytest.raises(Failed, match="the reason") as caught:
        example.tasks.run.run(*example.site)

    assert not caught.value.allow_retries


def test_a_night_that_may_be_tried_again(example: SimpleNamespace) -> None:
    """A log was rotated while it was read: the next try may succeed."""
    answer(example, 3)

    with pytest.raises(Exception, match="status 3: the reason") as caught:
        example.tasks.run.run(*example.site)

    assert getattr(caught.value, "allow_retries", True)
