"""The check of configurations by all rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import astuple

from doorkeeper.server.app.config_rules import (
    authorization,
    cluster,
    containers,
    listeners,
    own,
    principals,
    reading,
    sasl,
    tls,
)
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.rule import RULES, Product, Severity
from doorkeeper.server.config.loading import ConfigFile

MODULES: Final = (
    *(reading, listeners, sasl, tls, authorization, principals, cluster, containers, own),
)
"""The modules of rules, in the order of their codes."""

REFERENCE: Final = "4.3"


class Finding(NamedTuple):
    """A problem with its rule's code and severity, and the file's name. It never has a secret."""

    code: str
    severity: Severity
    file: str
    source: str
    key: str
    text: str

    def __str__(self) -> str:
        """Return ``source: key: text (code)``."""
        return f"{': '.join(filter(None, (self.source, self.key, self.text)))} ({self.code})"


def release_of(text: str) -> tuple[int, int]:
    """Return a release, such as 4.3, as numbers."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def check(
    files: Sequence[ConfigFile],
    *,
    product: Product = Product.KAFKA,
    release: tuple[int, int] = release_of(REFERENCE),
) -> list[Finding]:
    """Return what the rules find in the files of one cluster: by file, errors first, then by code.

    A text never contains the value of a password.
    """
    nodes = [Node(file) for file in files]
    rules = [rule for _, rule in sorted(RULES.items()) if rule.applies(product, release)]
    findings = [
        Finding(rule.code, rule.severity, node.name, *astuple(problem))
        for node in nodes
        for rule in rules
        if not rule.compares
        for problem in rule.look(node)
    ]
    findings += [
        Finding(rule.code, rule.severity, _file_of(problem.source, nodes), *astuple(problem))
        for rule in rules
        if rule.compares and len(nodes) > 1
        for problem in rule.look(nodes)
    ]
    order = {node.name: at for at, node in enumerate(nodes)}
    return sorted(
        dict.fromkeys(findings),
        key=lambda finding: (
            order.get(finding.file, len(order)),
            finding.severity is not Severity.ERROR,
            finding.code,
        ),
    )


def _file_of(source: str, nodes: Sequence[Node]) -> str:
    return next(
        (node.name for node in nodes if source == node.name or source.startswith(f"{node.name} ")),
        source,
    )
