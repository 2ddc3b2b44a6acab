"""What a super user looks like and is not: Kafka compares super users as whole texts.

Source: ``StandardAuthorizer.getConfiguredSuperUsers`` splits at semicolons and trims.
"""

from __future__ import annotations

import re
from typing import Final

_SEVERAL: Final = re.compile(r",\s*(?=[A-Za-z]+:)")
"""A comma before another principal. In a distinguished name, = joins attribute and value."""

_ATTRIBUTE: Final = re.compile(r"[A-Za-z0-9.]+=")


def remark_on(user: str) -> str:
    """Return what an element of ``super.users`` looks like, and what to write; or an empty text.

    The commas of a distinguished name belong to it.
    """
    kind, _, name = user.partition(":")
    users = _SEVERAL.split(user)
    if len(users) == 1 and _is_list_of_names(name):
        users = [f"{kind}:{part}" for part in name.split(",")]
    if len(users) > 1:
        right = ";".join(f"{kind}:{user.strip().removeprefix(f'{kind}:')}" for user in users)
        return f"{user!r} is one name; separate names with semicolons: {right}"
    if user.endswith(":*"):
        return f"{user} is a user with this exact name: super users do not support patterns"
    if kind != "User" and kind.lower() == "user":
        return f"{user} matches no principal: write User:{name}"
    return ""


def _is_list_of_names(name: str) -> bool:
    """Return whether a name has commas, and is not a distinguished name."""
    parts = [part.strip() for part in name.split(",")]
    return len(parts) > 1 and not any(_ATTRIBUTE.match(part) for part in parts)
