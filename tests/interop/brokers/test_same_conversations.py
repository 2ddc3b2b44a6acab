"""Whole conversations, byte for byte: authentication in every order, requests with every fault."""

import pytest

from testkit.conversation_cases import CATALOGUE
from testkit.pairs import Pair


@pytest.mark.parametrize("kind", CATALOGUE)
def test_conversations(kind: str, pair: Pair) -> None:
    """What each server answers, and when it closes, is the same."""
    pair.clear()

    differences = pair.talk(CATALOGUE[kind])

    assert not differences, "\n".join(differences)
