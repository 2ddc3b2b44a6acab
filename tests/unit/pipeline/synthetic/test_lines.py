"""An answer as a line of a log."""

from __future__ import annotations

import pytest

from doorkeeper.acls.model import (
    AclOperation,
    PatternType,
    Principal,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.server.authorizer.authorizer_log import FORMS
from doorkeeper.server.authorizer.contract import Action
from doorkeeper_wire.api_keys import API_NAMES
from synthetic.lines import tails_of
from synthetic.shape import SMALL
from synthetic.traffic import world_of
from testkit.acl import request_of

RELEASE = {"A": "1.0", "C": "2.4", "E": "4.2"}
KEYS = {name: key for key, name in API_NAMES.items()}


@pytest.mark.parametrize("era", sorted(RELEASE))
def test_lines_match_the_server(era: str) -> None:
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
