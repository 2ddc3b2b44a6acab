"""``authorize_by_resource_type`` against the contract's default algorithm."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hypothesis import given, settings

from doorkeeper.server.authorizer.contract import by_resource_type
from testkit import acl_worlds as some
from testkit.acl import request_of
from testkit.authorizers import CollectedAuthorizerLog, started

if TYPE_CHECKING:
    from doorkeeper.acls.decision import Policy, Question
    from doorkeeper.acls.model import AclBinding


@settings(max_examples=150, deadline=None)
@given(some.policies, some.worlds, some.questions)
def test_decision_and_log_match_the_default_algorithm(
    policy: Policy, world: list[AclBinding], question: Question
) -> None:
    async def compare() -> None:
        audit = CollectedAuthorizerLog()
        authorizer = await started(
            *dict.fromkeys(world),
            authorizer_log=audit,
            super__users=";".join(policy.super_users),
            allow__everyone__if__no__acl__found=str(policy.allow_everyone),
        )
        context = request_of(question.principal, host=question.host)
        asked = question.operation, question.resource_type

        expected = by_resource_type(authorizer, context, *asked)
        lines = list(audit.lines)
        audit.lines.clear()

        assert authorizer.authorize_by_resource_type(context, *asked) is expected
        assert audit.lines == lines

    asyncio.run(compare())
