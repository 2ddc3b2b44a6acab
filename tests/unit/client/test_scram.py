"""Users of SCRAM: what is asked, and what is made of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper.base.credentials import credential_of, salted_credential_of
from doorkeeper.base.errors import ErrorCode
from doorkeeper.client.scram import ScramDeletion, ScramPassword, alter, rounds
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from doorkeeper.client.nodes import Nodes


class Answers:
    """Whom a request is given to; it has answers of the test's own."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[Any] = []
        self._answers = list(answers)

    async def call(self, request: Any, kind: type[Any], *, controller: bool = False) -> Any:
        assert controller == isinstance(request, AlterUserScramCredentialsRequest)
        self.asked.append(request)
        answer = self._answers.pop(0)
        assert isinstance(answer, kind)
        return answer


async def test_password_is_not_sent() -> None:
    changes: list[ScramPassword | ScramDeletion] = [
        ScramPassword("alice", "SCRAM-SHA-256", "s\u00e9cret"),
        ScramPassword("bob", "SCRAM-SHA-512", "s\u00e9cret", 8192),
        ScramDeletion("carol", "SCRAM-SHA-512"),
    ]
    results = tuple(
        AlterUserScramCredentialsResult(user=name, error_code=code, error_message="no")
        for name, code in (("carol", 91), ("bob", 0), ("alice", 0))
    )
    answers = Answers(AlterUserScramCredentialsResponse(results=results))

    first, second, third = await alter(cast("Nodes", answers), changes)

    (request,) = answers.asked
    salts = set()
    for sent, mechanism in zip(request.upsertions, ("SCRAM-SHA-256", "SCRAM-SHA-512"), strict=True):
        assert salted_credential_of(
            mechanism, sent.salted_password, sent.iterations, sent.salt
        ) == credential_of(mechanism, "s\u00e9cret", sent.iterations, sent.salt)
        salts.add(sent.salt)
    assert len(salts) == 2
    assert "s\u00e9cret".encode() not in request.encode(0)
    assert "s\u00e9cret" not in repr(changes)
    assert [(each.name, each.mechanism) for each in request.deletions] == [("carol", 2)]
    assert (first.error, second.error) == (None, None)
    assert third.error is not None
    assert third.error.code is ErrorCode.RESOURCE_NOT_FOUND


def test_user_occurs_once_in_a_request() -> None:
    changes: list[ScramPassword | ScramDeletion] = [
        ScramPassword("a", "SCRAM-SHA-256", "x"),
        ScramPassword("a", "SCRAM-SHA-512", "x"),
        ScramDeletion("b", "SCRAM-SHA-256"),
        ScramDeletion("a", "SCRAM-SHA-256"),
    ]

    assert rounds(changes) == [[0, 2], [1], [3]]
    assert rounds([]) == []


def test_other_mechanisms_have_no_credentials() -> None:
    """It is said before anything is changed."""
    with pytest.raises(ValueError, match="found PLAIN; allowed: SCRAM-SHA-256"):
        rounds([ScramDeletion("a", "PLAIN")])
