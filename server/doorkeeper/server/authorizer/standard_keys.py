"""The configuration keys of the standard authorizer.

Source: ``StandardAuthorizer.configure`` (4.3.1), which trims values, ignores blank ones, and takes
anything but ``true`` for false.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import Principal
from doorkeeper.base.values import trim
from doorkeeper.server.authorizer.authorizer_log import FORMS, Form
from doorkeeper.server.config.keys import (
    ALLOW_EVERYONE_IF_NO_ACL_FOUND,
    AUTHORIZER_LOG_FORMAT,
    SUPER_USERS,
)

POLICY_DEFAULTS: Final[Mapping[str, str]] = {
    key.name: key.default or "" for key in (SUPER_USERS, ALLOW_EVERYONE_IF_NO_ACL_FOUND)
}
"""The keys that ``read_policy`` reads, and their values where they are not given."""

RECONFIGURABLE: Final = frozenset((*POLICY_DEFAULTS, AUTHORIZER_LOG_FORMAT.name))
"""The keys that apply without a restart."""


def read_policy(configs: Mapping[str, str]) -> Policy:
    """Read the super users, and the default for resources without ACLs.

    Super users are separated by semicolons, because distinguished names contain commas.

    Raises:
        ValueError: super users without a colon; the text lists each.
    """
    texts = (trim(user) for user in configs.get(SUPER_USERS.name, "").split(";"))
    users = [user for user in texts if user]
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
        allow_everyone=trim(configs.get(ALLOW_EVERYONE_IF_NO_ACL_FOUND.name, "")).lower() == "true",
    )


def read_form(configs: Mapping[str, str]) -> Form:
    """Read the format of the decision log.

    Raises:
        ValueError: it is not one of ``FORMS``.
    """
    release = configs.get(AUTHORIZER_LOG_FORMAT.name, "").strip()
    release = release or AUTHORIZER_LOG_FORMAT.default_value
    if release not in FORMS:
        raise ValueError(f"{AUTHORIZER_LOG_FORMAT}: found {release}; allowed: {', '.join(FORMS)}")
    return FORMS[release]
