"""An answer as a line of a log."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation, PatternType, Principal, ResourcePattern, ResourceType
from doorkeeper.authorizer.contract import Action
from doorkeeper.authorizer.kafka_log_line import FORMS
from doorkeeper_pipeline.worlds.lines import ERAS, pascal, tails_of
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.traffic import world_of
from doorkeeper_wire.api_keys import API_NAMES
from testkit.acl import request_of

RELEASE = {"A": "1.0", "B": "2.0", "C": "2.4", "D": "3.3", "E": "4.2"}
KEYS = {name: key for key, name in API_NAMES.items()}


@pytest.mark.parametrize("era", ERAS)
def test_lines_are_those_of_the_authorizer(era: str) -> None:
    """Each tail is, byte for byte, what the server's own form of that release writes."""
    world = world_of(SMALL)
    form = FORMS[RELEASE[era]]

    for tail, row, decision in zip(
        tails_of(world, era), world.questions.to_pylist(), world.decisions, strict=True
    ):
        asked = request_of("")._replace(
            principal=Principal.parse(row["principal"]),
            client_address=row["host"],
            request_type=KEYS[row["api"]],
        )
        resource = ResourcePattern(
            ResourceType[row["resource_type"]], row["resource_name"], PatternType.LITERAL
        )
        action = Action(AclOperation[row["operation"]], resource, row["reference_count"])
        level = "DEBUG" if decision.allowed else "INFO"
        assert tail == f"{level} {form(asked, action, decision)} (kafka.authorizer.logger)\n"


def test_eras_that_do_not_exist_are_refused() -> None:
    """The error names those that do."""
    with pytest.raises(ValueError, match="era 'F'; there are A, B, C, D, E"):
        next(tails_of(world_of(SMALL), "F"))


def test_words_are_joined_as_scala_had_them() -> None:
    """DESCRIBE_CONFIGS was DescribeConfigs."""
    assert pascal("DESCRIBE_CONFIGS") == "DescribeConfigs"
    assert pascal("TOPIC") == "Topic"
