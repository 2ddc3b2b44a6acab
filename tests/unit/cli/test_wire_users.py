"""Users of a server that runs: what is asked, and what is made of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper.authn.credentials import credential_of, salted_credential_of
from doorkeeper.cli.wire_client import WireError
from doorkeeper.cli.wire_users import WireUsers
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from doorkeeper.cli.wire_client import WireClient

DONE = AlterUserScramCredentialsResponse(results=(AlterUserScramCredentialsResult(user="alice"),))
REFUSED = AlterUserScramCredentialsResponse(
    results=(AlterUserScramCredentialsResult(user="alice", error_code=93, error_message="no"),)
)


class Answers:
    """A connection with answers of the test's own."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[Any] = []
        self._answers = list(answers)

    def ask(self, request: Any, kind: type[Any], version: int) -> Any:
        assert version == 0
        self.asked.append(request)
        answer = self._answers.pop(0)
        assert isinstance(answer, kind)
        return answer

    def users(self) -> WireUsers:
        return WireUsers(cast("WireClient", self))


def test_users_are_found_in_order() -> None:
    """A server answers in an order of its own; a mechanism that nobody knows is left out."""
    kind = DescribeUserScramCredentialsResult
    infos = tuple(CredentialInfo(mechanism=code, iterations=4096 + code) for code in (9, 2, 1))
    answer = DescribeUserScramCredentialsResponse(
        results=(kind(user="b", credential_infos=infos), kind(user="a"))
    )

    found = Answers(answer).users().found()

    assert list(found) == ["a", "b"]
    assert dict(found["b"]) == {"SCRAM-SHA-256": 4097, "SCRAM-SHA-512": 4098}


def test_a_refusal_is_told_in_words() -> None:
    """With the stock text where the server has none."""
    answer = DescribeUserScramCredentialsResponse(error_code=31, error_message=None)

    with pytest.raises(WireError, match="CLUSTER_AUTHORIZATION_FAILED: Cluster authorization"):
        Answers(answer).users().found()


def test_each_mechanism_is_a_request_of_its_own() -> None:
    """The server can check the password with what it gets, and does not get it."""
    answers = Answers(DONE, DONE)

    answers.users().put("alice", {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 8192}, "s\u00e9cret")

    salts = set()
    for request, mechanism in zip(answers.asked, ("SCRAM-SHA-256", "SCRAM-SHA-512"), strict=True):
        assert isinstance(request, AlterUserScramCredentialsRequest)
        (sent,) = request.upsertions
        assert salted_credential_of(
            mechanism, sent.salted_password, sent.iterations, sent.salt
        ) == credential_of(mechanism, "s\u00e9cret", sent.iterations, sent.salt)
        assert "s\u00e9cret".encode() not in request.encode(0)
        salts.add(sent.salt)
    assert len(salts) == 2


def test_what_was_changed_before_a_refusal_is_told() -> None:
    """Two requests are no transaction."""
    with pytest.raises(WireError) as put:
        Answers(DONE, REFUSED).users().put("alice", {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 1}, "x")
    with pytest.raises(WireError) as deleted:
        Answers(REFUSED).users().delete("alice", ["SCRAM-SHA-512"])

    assert str(put.value) == (
        "SCRAM-SHA-512: UNACCEPTABLE_CREDENTIAL: no; changed before: SCRAM-SHA-256"
    )
    assert str(deleted.value) == "SCRAM-SHA-512: UNACCEPTABLE_CREDENTIAL: no"
