"""A question for each page of the console, about the ACLs of ``testkit.consoles``."""

from __future__ import annotations

from testkit.consoles import HEAD

LINE = (
    "[2026-11-01 10:11:12,345] INFO Principal = User:bob is Denied operation = WRITE from host ="
    " 10.0.0.7 on resource = Topic:LITERAL:orders for request = Produce with resourceRefCount = 1"
    " based on rule DefaultDeny (kafka.authorizer.logger)"
)

ALLOWED = LINE.replace("Denied", "Allowed").replace(
    "DefaultDeny",
    "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=ord, patternType=PREFIXED,"
    " principal=User:bob, host=*, operation=WRITE, permissionType=ALLOW])",
)
PROPOSED = f"{HEAD}User:eve,Topic,LITERAL,orders,Read,Allow,*\n"
CONFIG = "listeners=CLIENTS://:9092\nlistener.security.protocol.map=CLIENTS:SASL_SSL\n"

QUESTIONS: dict[str, dict[str, str]] = {
    "who-can": {"name": "orders"},
    "what-can": {"principal": "User:bob"},
    "matrix": {},
    "why": {"line": LINE},
    "task": {"principal": "User:carol", "task": "produce-transactional", "topic": "pii-*"},
    "what-if": {"remove": "User:bob,TOPIC,LITERAL,orders,WRITE,DENY,*"},
    "review": {"file": PROPOSED},
    "history": {"name": "orders", "at": "1"},
    "drift": {},
    "change": {},
    "grants": {},
    "whoami": {"credential": "user", "text": "bob", "config": CONFIG},
    "broker": {"file": CONFIG},
    "learn": {"log": ALLOWED},
}
"""A question for each page."""

TEXTS = {
    "proposed.yaml": PROPOSED,
    "server.properties": CONFIG,
    "kafka-authorizer.log": ALLOWED,
}
"""The pasted texts, by the names that command lines show."""
