"""Arrow tables become numbers; what is no question is told."""

import polars as pl
import pytest

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.questions import (
    BadQuestions,
    encode,
    texts_of,
)
from testkit.acl import READ, allow, topic
from testkit.asked import asked

INDEX = compile_index(
    [allow("a", READ, topic("t"), "10.0.0.1")], Policy(super_users=frozenset({"User:root"}))
)
QUESTIONS = [
    Question("User:a", "10.0.0.1", READ, ResourceType.TOPIC, "t"),
    Question("User:root", "10.0.0.2", AclOperation.ALTER_CONFIGS, ResourceType.CLUSTER, "c"),
    Question("User:*", "*", READ, ResourceType.TOPIC, "t"),
]


def test_invalid_questions_are_rejected() -> None:
    """A missing column, a null and a word that is not Kafka's are told with the column."""
    table = asked(QUESTIONS)
    words = table.with_columns(operation=pl.Series(["READ", "PEEK", "READ"]))
    nulls = table.with_columns(host=pl.Series(["h", None, None]))

    with pytest.raises(BadQuestions, match="missing column host; found: principal, operation"):
        encode(INDEX, texts_of(table.drop("host")))
    with pytest.raises(BadQuestions, match="column host: 2 rows are null"):
        encode(INDEX, texts_of(nulls))
    with pytest.raises(BadQuestions, match="column operation: found 'PEEK'; allowed: UNKNOWN, ANY"):
        encode(INDEX, texts_of(words))
