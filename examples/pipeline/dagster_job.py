"""A job and a schedule for Dagster: ``dagster dev -f dagster_job.py``, beside nightly.py.

``doorkeeper-pipeline`` must be on the path. The settings are the config of the resource ``site``.
"""

import dagster as dg
import nightly


class SiteResource(dg.ConfigurableResource):
    """A cluster, its logs and ACLs, and the folder for tables, report and findings."""

    cluster: str
    logs: str
    acls: str
    folder: str
    super_users: list[str]

    def site(self) -> nightly.Site:
        """Return the site."""
        return nightly.Site(
            self.cluster, self.logs, self.acls, self.folder, tuple(self.super_users)
        )


@dg.op(retry_policy=dg.RetryPolicy(max_retries=2, delay=600))
def run(site: SiteResource) -> bool:
    """Read what is new; a status that stays as it is fails without a retry."""
    try:
        return nightly.run(site.site())
    except nightly.NightFailedError as error:
        raise dg.Failure(str(error), allow_retries=error.again) from error


@dg.op
def report(context: dg.OpExecutionContext, site: SiteResource, belongs_together: bool) -> bool:
    """Write the report, also where log and ACLs contradict each other: it says why."""
    context.log.info("report: %s", nightly.report(site.site()))
    return belongs_together


@dg.op
def check_evidence(belongs_together: bool) -> None:
    """Fail where log, ACLs and options do not belong together, beside a report that is there."""
    if not belongs_together:
        raise dg.Failure(
            "not enough evidence: see the warnings in the log of the run", allow_retries=False
        )


@dg.job
def access_report() -> None:
    """Run, report, and show a contradiction as a failed op."""
    check_evidence(report(belongs_together=run()))


defs = dg.Definitions(
    jobs=[access_report],
    schedules=[dg.ScheduleDefinition(job=access_report, cron_schedule="30 2 * * *")],
    resources={
        "site": SiteResource(
            cluster="payments",
            logs="/logs/*/kafka-authorizer.log*",
            acls="/var/lib/access/acls.txt",
            folder="/var/lib/access",
            super_users=["User:admin"],
        )
    },
)
