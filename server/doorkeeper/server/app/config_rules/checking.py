"""The check of configurations by all rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from doorkeeper.base.entry import Problem
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
from doorkeeper.server.app.config_rules.findings import Finding, Product, Severity
from doorkeeper.server.app.config_rules.node import ConfigFile, Node
from doorkeeper.server.app.config_rules.rule import RULES, Rule

MODULES: Final = (
    reading,
    listeners,
    sasl,
    tls,
    authorization,
    principals,
    cluster,
    containers,
    own,
)
"""The modules of rules, in the order of their codes."""

REFERENCE: Final = "4.3"


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
    nodes = [Node(file, product, release) for file in files]
    rules = [rule for _, rule in sorted(RULES.items()) if rule.applies(product, release)]
    findings: dict[Finding, None] = {}
    for node in nodes:
        for rule in rules:
            findings |= dict.fromkeys(_findings(rule, node))
    if len(nodes) > 1:
        for rule in rules:
            if rule.compare is not None:
                findings |= {
                    _finding(rule, _file_of(problem.source, nodes), problem): None
                    for problem in rule.compare(nodes)
                }
    order = {node.name: at for at, node in enumerate(nodes)}
    return sorted(
        findings,
        key=lambda finding: (
            order.get(finding.file, len(order)),
            finding.severity is not Severity.ERROR,
            finding.code,
        ),
    )


def _findings(rule: Rule, node: Node) -> Iterator[Finding]:
    if rule.look is None:
        return
    for problem in rule.look(node):
        yield _finding(rule, node.name, problem)


def _finding(rule: Rule, file: str, problem: Problem) -> Finding:
    return Finding(rule.code, rule.severity, file, problem.source, problem.key, problem.text)


def _file_of(source: str, nodes: Sequence[Node]) -> str:
    return next(
        (node.name for node in nodes if source == node.name or source.startswith(f"{node.name} ")),
        source,
    )
