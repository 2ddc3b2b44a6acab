"""A cluster whose grants have labels: what is true about each, whatever a log shows of it.

    NEEDED      requests of this quarter or the next need it, or it is a DENY
    UNKNOWABLE  neither logs nor listings can say: it is new, its principal has another name by now,
                a DENY stands in front, or what used it was not collected
    UNUSED      nothing has used it for a whole quarter, nor will
    REDUNDANT   nothing needs it: other grants allow the same, or super.users does

To remove an UNKNOWABLE grant is as wrong as to remove a NEEDED one. Labels keep to what people who
clean up ACLs agree on: a service starts at least once in a quarter, a job runs at least once in
one, a new service is used within a quarter, a new grant of an old service within five weeks.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from doorkeeper.acls.decision import Policy, Question
    from doorkeeper.acls.model import AclBinding
    from synthetic.quarter import Quarter

QUARTER_DAYS = 92


class Label(Enum):
    """What is true about a grant."""

    NEEDED = "NEEDED"
    UNKNOWABLE = "UNKNOWABLE"
    UNUSED = "UNUSED"
    REDUNDANT = "REDUNDANT"


GOING = frozenset({Label.UNUSED, Label.REDUNDANT})
"""The labels of grants that may be removed, also all of them at once."""


@dataclass(slots=True)
class Grant:
    """An ACL, its label, and the way of use that it stands for.

    ``given`` and ``taken`` are days since the begin of the history: it is in force from the one to
    the other, None for always.
    """

    binding: AclBinding
    label: Label
    use: str
    given: float | None = None
    taken: float | None = None

    def is_there(self, day: float) -> bool:
        """Say whether it is in force on a day."""
        begun = self.given is None or self.given <= day
        return begun and (self.taken is None or day < self.taken)


class Request(NamedTuple):
    """A request at a time, in days since the begin; those after the end are of the next quarter.

    ``printed`` is the principal as the log has it, where that is another text. ``fault`` is what is
    wrong with its line. ``often``: others like it come every day, so that one may be lost.
    """

    day: float
    question: Question
    api: str
    printed: str = ""
    fault: str = ""
    often: bool = False


@dataclass(slots=True)
class Cluster:
    """Grants and requests, those of the history and those of the quarter after it."""

    quarter: Quarter
    begin: dt.datetime
    policy: Policy
    grants: list[Grant] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    @property
    def end(self) -> dt.datetime:
        """Return the end of the history."""
        return self.begin + dt.timedelta(days=self.quarter.days)

    def at(self, day: float) -> dt.datetime:
        """Return the time of a day since the begin."""
        return self.begin + dt.timedelta(days=day)

    def listed(self, day: float) -> list[AclBinding]:
        """Return the ACLs in force on a day, sorted."""
        return sorted(each.binding for each in self.grants if each.is_there(day))

    def present(self) -> list[Grant]:
        """Return the grants in force at the end."""
        return [each for each in self.grants if each.is_there(self.quarter.days)]
