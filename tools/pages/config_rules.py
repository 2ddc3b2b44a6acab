"""The rules of docs/reference/config-rules.md, from ``server.app.config_rules``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.app.config_rules import checking
from doorkeeper.server.app.config_rules.rule import ALWAYS, RULES, Product
from doorkeeper.server.app.rule_texts import rule_texts
from testkit.config_rule_examples import BASE, PROPERTIES, example
from testkit.written_passwords import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from doorkeeper.server.app.config_rules.rule import Rule

PASSWORDS = """\
## Your password has X: write Y

A users file has no passwords, only what `doorkeeper users-file set-password` makes of them.
`--password-file` takes the bytes of a line as they are.

| the password has | in a JAAS file | in `sasl.jaas.config` of a file | in a shell | users file |
|---|---|---|---|---|
"""


def text() -> str:
    """Return the table of rules, that of passwords, and a section for each rule."""
    return "".join((_table(), "\n", PASSWORDS, *_passwords(), *_sections()))


def _table() -> str:
    rows = (
        f"| [{code}](#{code.lower()}) | {RULES[code].severity.value} | {text.title} |"
        f" {_products(RULES[code])} |\n"
        for code, text in sorted(rule_texts().items())
    )
    return f"| code | severity | fault | of |\n|---|---|---|---|\n{''.join(rows)}"


def _products(rule: Rule) -> str:
    names = []
    if Product.KAFKA in rule.products:
        since = "" if rule.since == ALWAYS else f" since {rule.since[0]}.{rule.since[1]}"
        names.append(f"Kafka{since}")
    if Product.DOORKEEPER in rule.products:
        names.append("Doorkeeper")
    return ", ".join(names)


def _passwords() -> Iterator[str]:
    for row in ROWS:
        cells = (row.jaas, row.properties, row.shell)
        written = " | ".join(f"`{cell}`" if cell else "it cannot be written" for cell in cells)
        yield f"| {row.what}: `{row.password}` | {written} | as it is |\n"


def _sections() -> Iterator[str]:
    yield (
        "\n## The examples\n\nEach example for Kafka changes this configuration; a key without"
        f" a value is removed from it.\n\n```properties\n{BASE}```\n"
    )
    for module in checking.MODULES:
        name = (module.__doc__ or "").partition(":")[0].removeprefix("The environment of ")
        title = {"containers": "Rules C8"}.get(module.__name__.rpartition(".")[2], name)
        subject = (module.__doc__ or "").splitlines()[0].partition(": ")[2].rstrip(".")
        subject = subject or "the environment of container images"
        yield f"\n## {title}: {subject}\n"
        for _, rule in sorted(RULES.items()):
            if rule.look.__module__ == module.__name__:
                yield from _section(rule)


def _section(rule: Rule) -> Iterator[str]:
    text = rule_texts()[rule.code]
    yield f"\n### {rule.code}\n\n{text.title} ({rule.severity.value}). {text.why}\n\n"
    yield "```properties\n"
    for kind in ("wrong", "right"):
        for line in _example(kind, example(rule.code, kind)):
            yield f"{line}\n"
    yield "```\n"


def _example(title: str, texts: Mapping[str, str]) -> Iterator[str]:
    for name, text in texts.items():
        shown = "" if name == PROPERTIES else f", in {name}"
        yield f"# {title}{shown}" if text.strip() else f"# {title}: without it"
        if text.strip():
            yield text.rstrip("\n")
