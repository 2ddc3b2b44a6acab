"""A real broker and a Doorkeeper that are asked the same, and the count of what was compared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

from doorkeeper_wire.message import Record
from testkit.accepted import Accepted, accepted_beside, agreed
from testkit.conversations import Conversation, play
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.side_by_side import INTERNAL_TOPICS, Side, normal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from testkit.frame_steps import Step
    from testkit.oracle_totals import Totals

TALKERS = 8
"""Conversations at the same time: most wait for the delay behind a failed authentication."""


class Pair:
    """The two servers."""

    def __init__(
        self, reference: Target, ours: Target, totals: Totals, version: str = "4.3.1"
    ) -> None:
        self.reference = Side(reference)
        self.ours = Side(ours)
        self.version = version
        self._totals = totals
        self.accepted = accepted_beside(version)
        self._exchanges = f"exchanges with a broker {version}"

    @classmethod
    def start(cls, totals: Totals, version: str = "4.3.1", **overrides: str) -> Self:
        """Start both with the same keys; underscores in a key stand for dots.

        Raises:
            Unavailable: there is no Kafka on this machine.
        """
        overrides.setdefault("inter_broker_listener_name", "PLAINTEXT")
        reference = kafka_target(version, **overrides)
        try:
            ours = doorkeeper_target(version, INTERNAL_TOPICS, **overrides)
        except BaseException:
            reference.close()
            raise
        pair = cls(reference, ours, totals, version)
        for side in (pair.reference, pair.ours):
            side.coordinator()
        return pair

    def clear(self, topics: tuple[str, ...] = ()) -> None:
        """Begin anew: no ACLs, and these topics."""
        for side in (self.reference, self.ours):
            side.clear()
            if topics:
                side.make(topics)

    def kept(self) -> dict[str, set[str]]:
        """Return what ``clear`` does not clear, of each server."""
        return {side.target.name: side.kept() for side in (self.reference, self.ours)}

    def differences(self, step: Step, accepted: tuple[Accepted, ...] | None = None) -> list[str]:
        """Ask both, and return a line for each difference that is not accepted.

        By default that is all that is accepted beside a broker of this release.
        """
        accepted = self.accepted if accepted is None else accepted
        expected, found = self.reference.ask(step), self.ours.ask(step)
        self._totals.compared[self._exchanges] += 1
        name = type(step.request).__name__
        lines = agreed(name, expected, found, accepted=accepted, met=self._totals.accepted)
        head = f"{step.user}, v{step.version} {shown(step.request)}"
        return [head, *lines] if lines else []

    def talk(self, conversations: Sequence[Conversation]) -> list[str]:
        """Hold conversations with both, and return a line for each difference."""
        with ThreadPoolExecutor(TALKERS) as pool:
            return [line for lines in pool.map(self._talk, conversations) for line in lines]

    def _talk(self, conversation: Conversation) -> list[str]:
        expected, found = (
            normal(play(getattr(side.target, conversation.listener), conversation.turns))
            for side in (self.reference, self.ours)
        )
        self._totals.compared[self._exchanges] += len(expected)
        if len(expected) != len(found):
            return [conversation.name, f"  kafka: {expected}", f"  we:    {found}"]
        asked = [turn.name for turn in conversation.turns for _ in range(turn.answers)]
        met = self._totals.accepted
        lines = [
            line
            for name, theirs, our in zip(asked, expected, found, strict=False)
            for line in agreed(name, theirs, our, accepted=self.accepted, met=met)
        ]
        return [conversation.name, *lines] if lines else []

    def close(self) -> None:
        """Stop both."""
        for side in (self.reference, self.ours):
            side.close()
            side.target.close()


def shown(value: Any) -> Any:
    """Return a message as text without what has no value: short enough to read."""
    if isinstance(value, Record):
        parts = (
            f"{name}={shown(getattr(value, name))}"
            for name in value.__struct_fields__
            if getattr(value, name) != () or name in ("topics", "creations", "filters")
        )
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, tuple):
        return f"({', '.join(str(shown(part)) for part in value)})"
    return repr(value)
