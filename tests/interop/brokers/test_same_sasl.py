"""SCRAM in whole conversations, in clear and behind TLS, with the file of a real broker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from testkit import conversation_cases, sasl_doors
from testkit.accepted import accepted_beside, agreed
from testkit.conversations import spoken
from testkit.kafka_jars import BROKERS
from testkit.or_skip import or_skip
from testkit.scram_conversations import CATALOGUE, play, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testkit.conversations import Conversation
    from testkit.oracle_totals import Totals
    from testkit.sasl_doors import SaslDoors

TALKERS = 8


@pytest.fixture(scope="module", params=BROKERS)
def version(request: pytest.FixtureRequest) -> str:
    """Name the releases of the broker in turn."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def doors(
    version: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[SaslDoors, SaslDoors]]:
    """Give a broker and a Doorkeeper that the same file has started, with the same users."""
    folder = tmp_path_factory.mktemp("doors")
    theirs = or_skip(lambda: sasl_doors.broker(folder, version))
    ours = sasl_doors.doorkeeper(folder, version)
    for each in (theirs, ours):
        each.make_users()
    yield theirs, ours
    theirs.close()
    ours.close()


@pytest.mark.parametrize("is_bare", [False, True], ids=["in requests", "bare"])
@pytest.mark.parametrize("listener", ["SASL", "SECURE", "TIMED"])
def test_logins(
    listener: str,
    doors: tuple[SaslDoors, SaslDoors],
    version: str,
    totals: Totals,
    *,
    is_bare: bool,
) -> None:
    """What each server answers, and when it closes, is the same."""

    def talk(name: str) -> list[str]:
        script = CATALOGUE[name]
        expected, found = (play(script, each.connect(listener), is_bare=is_bare) for each in doors)
        totals.compared[f"exchanges with a broker {version}"] += len(expected)
        if expected == found:
            return []
        return [name, f"  kafka: {expected}", f"  we:    {found}"]

    with ThreadPoolExecutor(TALKERS) as pool:
        differences = [line for lines in pool.map(talk, CATALOGUE) for line in lines]

    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("kind", ["authentications", "orders", "sizes"])
def test_logins_over_tls(
    kind: str, doors: tuple[SaslDoors, SaslDoors], version: str, totals: Totals
) -> None:
    accepted = accepted_beside(version)

    def talk(conversation: Conversation) -> list[str]:
        expected, found = (over_tls(each, conversation) for each in doors)
        totals.compared[f"exchanges with a broker {version}"] += len(expected)
        if len(expected) != len(found):
            return [conversation.name, f"  kafka: {expected}", f"  we:    {found}"]
        asked = [turn.name for turn in conversation.turns for _ in range(turn.answers)]
        lines = [
            line
            for name, theirs, our in zip(asked, expected, found, strict=False)
            for line in agreed(name, theirs, our, accepted=accepted, met=totals.accepted)
        ]
        return [conversation.name, *lines] if lines else []

    conversations = [each for each in conversation_cases.CATALOGUE[kind] if each.listener == "sasl"]
    with ThreadPoolExecutor(TALKERS) as pool:
        differences = [line for lines in pool.map(talk, conversations) for line in lines]

    assert conversations
    assert not differences, "\n".join(differences)


def over_tls(doors: SaslDoors, conversation: Conversation) -> list[Any]:
    """Hold a conversation on the listener behind TLS; return what came back."""
    with doors.connect("SECURE") as peer:
        return [shown(each) for each in spoken(peer, conversation.turns)]
