"""The least ACLs that applications have on a Doorkeeper are the least on a broker 4.3.1, too.

Each application works there with exactly these, and without any one of them it does not.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.testing import DoorkeeperServer
from testkit.applications import APPLICATION, PRINCIPAL, USER, run, set_acls
from testkit.kafka_target import USERS, Target, kafka_target
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding
    from testkit.applications import Application, Outcome
    from testkit.oracle_totals import Totals

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broker() -> Iterator[Target]:
    """Give a broker whose log names each refusal."""
    running = or_skip(lambda: kafka_target("4.3.1", audit_level="info"))
    yield running
    running.close()


def learn(application: Application, folder: Path) -> list[AclBinding]:
    """Return the least ACLs of an application, by one run on a Doorkeeper."""
    with DoorkeeperServer(
        listeners=["SASL_PLAINTEXT", "PLAINTEXT"],
        users={USER: USERS[USER]},
        records=True,
        learn=True,
    ) as server:
        plain, sasl = server.address("PLAINTEXT"), server.address("SASL_PLAINTEXT")

        outcome = run(application, sasl, plain, folder)

        assert outcome.done, outcome.text
        return server.least_acls(PRINCIPAL)


@pytest.mark.parametrize("name", APPLICATION)
def test_minimal_acls(name: str, broker: Target, tmp_path: Path, totals: Totals) -> None:
    application = APPLICATION[name]
    needed = learn(application, tmp_path)

    assert needed == sorted(application.needs)

    def works_with(bindings: Sequence[AclBinding]) -> Outcome:
        asyncio.run(set_acls(broker.plain, bindings))
        return run(application, broker.sasl, broker.plain, tmp_path)

    def refusals() -> int:
        log = broker.server.log.read_text(encoding="utf-8", errors="replace")
        return log.count(f"Principal = {PRINCIPAL} is Denied")

    outcome = works_with(needed)
    assert outcome.done, outcome.text
    for each in needed:
        before = refusals()
        outcome = works_with([other for other in needed if other != each])
        assert not outcome.done, f"not needed: {each}"
        if application.unlogged:
            assert application.unlogged in outcome.text
        else:
            assert refusals() > before, outcome.text
        totals.compared["least ACLs of applications, each needed on a broker 4.3.1"] += 1
    # The refused runs have left nothing behind that would prevent another one.
    outcome = works_with(needed)
    assert outcome.done, outcome.text
    totals.compared["applications with their least ACLs on a broker 4.3.1"] += 1
