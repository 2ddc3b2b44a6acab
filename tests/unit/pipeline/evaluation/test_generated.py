"""Which names are generated: literal grants on them would refuse the next one."""

from __future__ import annotations

import datetime as dt
import random
import string
import uuid
from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper.acls.model import AclOperation
from doorkeeper_pipeline.evaluation.generated import NAMES_MAX, generated, shape_of
from doorkeeper_pipeline.evaluation.overbroad import TOUCHES
from testkit.acl import allow, topic

if TYPE_CHECKING:
    from collections.abc import Sequence

BEGIN = dt.datetime(2026, 8, 1, tzinfo=dt.UTC)
END = BEGIN + dt.timedelta(days=100)
EVERY_TOPIC = [allow("User:a", AclOperation.READ, topic("*"))]
CHANCE = random.Random(7)
WORDS = [
    *("orders", "payments", "shipments", "inventory", "customers", "invoices", "refunds"),
    *("transactions", "workflows", "backlog", "lengths", "strengths", "thanks", "worldwide"),
    *("sketch-book", "heartbeat", "catalog", "search", "index", "metrics", "audit", "events"),
    *("alerts", "subscriptions", "scripts", "backups", "transcripts", "schemas", "changelogs"),
    *("internal", "external", "partners", "suppliers", "warehouse", "logistics", "tracking"),
    *("returns", "pricing", "discounts", "k8s", "s3-sink"),
]


def drawn(letters: str, length: int = 8) -> list[str]:
    return ["".join(CHANCE.choices(letters, k=length)) for _ in range(40)]


def reason(names: Sequence[str], days: Sequence[tuple[float, float]] | None = None) -> str:
    """Return why names that were used on days of the history cannot be listed."""
    spans = days or [(0, 100)] * len(names)
    rows = [
        {
            "binding": 0,
            "principal": "User:a",
            "resource_name": name,
            "first_ts": BEGIN + dt.timedelta(days=first),
            "last_ts": BEGIN + dt.timedelta(days=last),
        }
        for name, (first, last) in zip(names, spans, strict=True)
    ]
    return generated(EVERY_TOPIC, pl.DataFrame(rows, schema=TOUCHES), BEGIN, END).get(0, "")


@pytest.mark.parametrize(
    ("names", "shape"),
    [
        ([f"job-{uuid.UUID(int=CHANCE.getrandbits(128))}" for _ in range(3)], "job-<uuid>"),
        ([f"a.{CHANCE.getrandbits(48):012x}" for _ in range(9)], "a.<hash>"),
        (["app-7d9f8b6c5d-x2kq9", "app-84f6bc9d77-2lmzt", "app-6b7c9d8f55-qq8vn"], "app-<pod>"),
        (["report-2026-08-01", "report-2026-09-01", "report-2026-10-01"], "report-<time>"),
        ([f"run-{1785000000000 + 86_400_000 * day}" for day in range(3)], "run-<time>"),
        ([f"console-consumer-{CHANCE.randrange(99_999)}" for _ in range(10)], "console-consumer-"),
        ([f"tenant-{number:03}" for number in range(10)], "tenant-<number>"),
        ([f"p-KSTREAM-STORE-{number:010}-changelog" for number in (3, 9, 12)], "<index>-changelog"),
        (drawn(string.ascii_lowercase), "<letters>"),
        (drawn(string.ascii_lowercase, 12), "<letters>"),
        (drawn(string.ascii_lowercase + string.digits), "<random>"),
        (drawn(string.ascii_letters + string.digits), "<random>"),
        (
            [*WORDS, *(f"job-{uuid.UUID(int=CHANCE.getrandbits(128))}" for _ in range(3))],
            "job-<uuid>",
        ),
    ],
)
def test_generated_names_are_detected(names: list[str], shape: str) -> None:
    assert shape in reason(names)
    assert f"({len(names):,} names)" in reason(names)


@pytest.mark.parametrize(
    "names",
    [
        WORDS,
        [f"pay.{letter}" for letter in "abcdefghijklmnop"],
        ["orders-v1", "orders-v2", "orders-v3"],
        [f"orders-{number}" for number in range(9)],
        ["report-2026-08-01", "report-2026-09-01"],
        ["app-7d9f8b6c5d", "decade80", "orders"],
        drawn(string.ascii_lowercase)[:9],
        [f"{word}.{other}" for word in WORDS[:9] for other in WORDS[:9]],
    ],
)
def test_human_names_are_not_generated(names: list[str]) -> None:
    assert reason(names) == ""


@pytest.mark.parametrize(
    ("days", "is_generated"),
    [
        # A name a week, used for a week.
        ([(7 * week, 7 * week + 6) for week in range(12)], True),
        ([(0, 100)] * 12, False),
        # More names came, and the old ones are in use.
        ([(8 * number, 100) for number in range(12)], False),
        ([(0, 8 * number) for number in range(12)], False),
        ([(9 * number, 9 * number + 8) for number in range(9)], False),
    ],
)
def test_short_lived_names_are_generated(
    days: list[tuple[float, float]], *, is_generated: bool
) -> None:
    found = reason(WORDS[: len(days)], days)

    assert bool(found) is is_generated
    assert not found or "of 12 names, 4 came in the second half of the history, and" in found


def test_many_names_count_as_generated() -> None:
    names = [f"{word}.{other}" for word in WORDS for other in WORDS]
    assert reason(names[:NAMES_MAX]) == ""
    assert reason(names) == f"it was used for {len(names):,} names"


@pytest.mark.parametrize("name", ["orders", "pay.in", "__consumer_offsets", "a_b-c.d", "*"])
def test_plain_words_are_not_generated(name: str) -> None:
    assert shape_of(name) == name


def test_history_without_times_has_no_generated_names() -> None:
    assert generated(EVERY_TOPIC, pl.DataFrame(schema=TOUCHES), None, None) == {}
