"""The sections of docs/reference/lint-rules.md, one for each code of ``doorkeeper.acls.lint``."""

from __future__ import annotations

from doorkeeper.acls.lint import CODES

MEANINGS = {
    "E001": ("No request asks for the operation on that type of resource.", "Remove it."),
    "E002": ("ACLs do not apply to super users.", "Remove it."),
    "E003": ("A DENY covers all of it.", "Remove it."),
    "E004": ("Other ACLs allow or deny the same.", "Remove it."),
    "E005": (
        "Nothing allows what it denies.",
        "Remove it, unless it is meant to override a future ALLOW.",
    ),
    "E006": ("Everyone is allowed this anyway, by the default.", "Remove it."),
    "E007": (
        "The cluster is named `kafka-cluster`, which this pattern does not cover.",
        "Remove it.",
    ),
    "W001": (
        "On one pattern the same is allowed and denied, and the ALLOW is not one of ALL.",
        "Keep both if that is meant.",
    ),
    "W002": (
        "PREFIXED `*` covers names that begin with an asterisk, not every name.",
        "Make it LITERAL.",
    ),
    "W003": (
        "The type of the principal is missing or misspelled, as in `alice` or `user:alice`.",
        "Use `User:`.",
    ),
    "W004": ("Only `User:*` stands for other principals.", "Name them."),
    "W005": (
        "It is not an address as Kafka writes it, so it never matches.",
        "Write it as Kafka does.",
    ),
    "W006": ("Everyone is allowed.", "Name the principals, or accept it."),
    "W007": ("Topics may be read, but no group may be joined.", "Grant READ on the group."),
    "W008": ("The user cannot log in.", "Create the user, or remove the ACL."),
    "W009": ("There is no such topic.", "Create the topic, or remove the ACL."),
    "W010": ("ALTER, CLUSTER_ACTION or ALL on the cluster is allowed.", "Accept it."),
    "W011": (
        "No topic has such a name: `orders*`, `/o.*/`, a list, an invisible blank.",
        "Make it PREFIXED, or name the topics.",
    ),
    "W012": ("It is a list, or has invisible characters.", "Write an ACL for each principal."),
    "W013": (
        "Since Kafka 2.8 a principal with WRITE on a topic does not need IDEMPOTENT_WRITE.",
        "Remove it.",
    ),
}
"""What each code means, and how to fix it."""


def text() -> str:
    """Return a section for each code."""
    return "\n".join(
        f"## {code}\n\n**{title[0].upper()}{title[1:]}.** {MEANINGS[code][0]} {MEANINGS[code][1]}\n"
        for code, title in CODES.items()
    )
