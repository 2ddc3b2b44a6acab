"""A DAG for Airflow 3: put it and nightly.py into the folder of DAGs.

``doorkeeper-pipeline`` must be on the path of the workers. The settings are the JSON of Airflow's
variable ``doorkeeper_site``, with the fields of ``nightly.Site``, such as
``{"cluster": "payments", "logs": "/logs/*/kafka-authorizer.log*", "acls": "/srv/access/acls.txt",
"folder": "/srv/access", "super_users": ["User:admin"]}``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import nightly
import pendulum
from airflow.sdk import Variable, dag, task
from airflow.sdk.exceptions import AirflowFailException


def site() -> nightly.Site:
    """Return the site of the variable; it is read in tasks, not whenever the file is parsed."""
    found: dict[str, Any] = Variable.get("doorkeeper_site", deserialize_json=True)
    return nightly.Site(**{**found, "super_users": tuple(found.get("super_users", ()))})


@task(retries=2, retry_delay=timedelta(minutes=10))
def run() -> bool:
    """Read what is new; a status that stays as it is fails without a retry."""
    try:
        return nightly.run(site())
    except nightly.NightFailedError as error:
        if error.again:
            raise
        raise AirflowFailException(str(error)) from error


@task
def report(belongs_together: bool) -> str:
    """Write the report, also where log and ACLs contradict each other: it says why."""
    path = str(nightly.report(site()))
    return path if belongs_together else f"{path}: NOT ENOUGH EVIDENCE"


@task
def check_evidence(belongs_together: bool) -> None:
    """Fail where log, ACLs and options do not belong together, beside a report that is there."""
    if not belongs_together:
        raise AirflowFailException("not enough evidence: see the warnings in the log of the run")


@dag(
    schedule="30 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    tags=["access"],
)
def access_report() -> None:
    """Run, report, and show a contradiction as a failed task."""
    found = run()
    written = report(found)
    written >> check_evidence(found)


access_report()
