"""What a history holds at all."""

import datetime as dt
from pathlib import Path

from doorkeeper.acl.decision import Question
from doorkeeper.acl.model import ResourceType
from doorkeeper_pipeline.jobs.basis import Span
from doorkeeper_pipeline.jobs.observed import history, span
from testkit.acl import READ
from testkit.histories import BEGIN, Asking, asked_of

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
ASKING = [
    Asking(question=Question("User:a", "10.0.0.1", READ, TOPIC, "t"), count=2),
    Asking(question=Question("User:b", "10.0.0.1", READ, TOPIC, "s"), day=3),
    Asking(question=Question("User:a", "10.0.0.1", READ, GROUP, "g"), day=3),
]

DAYS = frozenset(BEGIN.date() + dt.timedelta(days=each) for each in (0, 3))


def test_span(tmp_path: Path) -> None:
    """Days with decisions are counted, not days between the first and the last."""
    found = span(asked_of(tmp_path, ASKING, []))

    assert found == Span(DAYS, 4, 0, BEGIN, BEGIN + dt.timedelta(days=3, seconds=30))
    assert found.days == 2


def test_history(tmp_path: Path) -> None:
    """Names are those of each type, sorted; principals are counted once."""
    found = history(asked_of(tmp_path, ASKING, []))

    assert found.names == {TOPIC: ["s", "t"], GROUP: ["g"]}
    assert found.principals == 2
