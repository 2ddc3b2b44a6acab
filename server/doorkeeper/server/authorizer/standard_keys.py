"""The configuration keys of the standard authorizer.

Source: ``StandardAuthorizer.configure`` (4.3.1), which trims values, ignores blank ones, and takes
anything but ``true`` for false.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import Principal
from doorkeeper.server.authorizer.kafka_log_line import DEFAULT_FORM, FORMS

if TYPE_CHECKING:
    from doorkeeper.server.authorizer.kafka_log_line import Form

SUPER_USERS = "super.users"
ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"
LOG_FORMAT = "doorkeeper.authorizer.log.format"

POLICY_DEFAULTS: Final[Mapping[str, str]] = {SUPER_USERS: "", ALLOW_EVERYONE: "false"}
"""The keys that ``read_policy`` reads, and their values where they are not given."""


def read_policy(configs: Mapping[str, str]) -> Policy:
    """Read the super users, and the default for resources without ACLs.

    Super users are separated by semicolons, because distinguished names contain commas.

    Raises:
        ValueError: super users without a colon; the text lists each.
    """
    given = (user.strip() for user in configs.get(SUPER_USERS, "").split(";"))
    users = [user for user in given if user]
    wrong = []
    for user in users:
        try:
            Principal.parse(user)
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise ValueError(f"{SUPER_USERS}: {'; '.join(wrong)}")
    return Policy(
        super_users=frozenset(users),
        allow_everyone=configs.get(ALLOW_EVERYONE, "").strip().lower() == "true",
    )


def read_form(configs: Mapping[str, str]) -> Form:
    """Read the format of the decision log.

    Raises:
        ValueError: it is not one of ``FORMS``.
    """
    release = configs.get(LOG_FORMAT, "").strip() or DEFAULT_FORM
    if release not in FORMS:
        raise ValueError(f"{LOG_FORMAT}: found {release}; allowed: {', '.join(FORMS)}")
    return FORMS[release]
