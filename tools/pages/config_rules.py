"""Writes docs/reference/config-rules.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.app.config_rules import checking
from doorkeeper.server.app.config_rules.examples import BASE
from doorkeeper.server.app.config_rules.findings import Product
from doorkeeper.server.app.config_rules.rule import ALWAYS, PROPERTIES, RULES
from testkit.checkout import ROOT
from testkit.written_passwords import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from doorkeeper.server.app.config_rules.rule import Rule

PAGE = ROOT / "docs" / "reference" / "config-rules.md"

HEAD = """\
# Rules of configurations

Is this configuration what I meant? `doorkeeper config check --broker` reads the files of real
brokers and controllers, and says what a node would refuse to start with, and what it would start
with and do something else. Made from the declarations in
`server/doorkeeper/server/app/config_rules` by `make generate`; `make check` keeps it current.

    doorkeeper config check --broker broker.properties controller.properties
    doorkeeper config check --broker server.properties --jaas kafka_server_jaas.conf
    doorkeeper config check --broker server.properties --no-jaas --strict
    doorkeeper config check --broker --env compose.yaml --kafka 4.3 --output sarif

- Several files are brokers and controllers of one cluster, and are compared.
- Where login modules are in a JAAS file, `--jaas` names it; `--no-jaas` says that there is none.
- `--env` reads the services of a Compose file whose image is Kafka's (`apache/kafka`,
  `confluentinc/cp-kafka`, Bitnami's): a variable `KAFKA_SUPER_USERS` is the key `super.users`.
- `--output json` and `--output sarif` are for programs and code reviews.
- Only keys of security are looked at. Passwords are never printed.
- A key store is opened where it is on the machine of the check.

An **error** is what a node of a new cluster refuses to start with. With a **warning** it starts.
The status is 1 with an error, and with a warning where `--strict` is given.

The rules marked *Doorkeeper* are applied to Doorkeeper's own file too, by
`doorkeeper config check FILE` and when `doorkeeper serve` starts. Its errors are those of
[configuration.md](configuration.md).

"""

PASSWORDS = """\
## Your password has X: write Y

A login module in a properties file is read twice: by `java.util.Properties`, which drops
backslashes, then by the parser of JAAS, for which a backslash quotes the next letter. A JAAS file
is read once, and `${` in it names a Java property. On a command line the shell reads it: single
quotes keep all but themselves. A users file has no password, only what
`doorkeeper users-file set` makes of one; `--password-file` takes the bytes of a line as they are.

| the password has | in a JAAS file | in `sasl.jaas.config` of a file | in a shell | users file |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    return "".join((HEAD, _table(), "\n", PASSWORDS, *_passwords(), *_sections()))


def _table() -> str:
    rows = (
        f"| [{rule.code}](#{rule.code.lower()}) | {rule.severity.value} | {rule.title} |"
        f" {_products(rule)} |\n"
        for _, rule in sorted(RULES.items())
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
        "\n## The examples\n\nThe examples of Kafka are added to this configuration; a key"
        f" without a value removes the one of it.\n\n```properties\n{BASE}```\n"
    )
    for module in checking.MODULES:
        name = (module.__doc__ or "").partition(":")[0].removeprefix("The environment of ")
        title = {"containers": "Rules C8"}.get(module.__name__.rpartition(".")[2], name)
        subject = (module.__doc__ or "").splitlines()[0].partition(": ")[2].rstrip(".")
        subject = subject or "the environment of container images"
        yield f"\n## {title}: {subject}\n"
        for rule in RULES.values():
            look = rule.look or rule.compare
            if look is not None and look.__module__ == module.__name__:
                yield from _section(rule)


def _section(rule: Rule) -> Iterator[str]:
    yield f"\n### {rule.code}\n\n{rule.title} ({rule.severity.value}). {rule.why}\n"
    for title, example in (("Wrong", rule.wrong), ("Right", rule.right)):
        yield from _example(title, example)


def _example(title: str, example: Mapping[str, str]) -> Iterator[str]:
    for name, text in example.items():
        if not text.strip():
            yield f"\n{title}: without it.\n"
            continue
        kind = {"yaml": "yaml", "pem": "text", "conf": "text"}.get(name.rpartition(".")[2])
        shown = "" if name == PROPERTIES else f", `{name}`"
        yield f"\n{title}{shown}:\n\n```{kind or 'properties'}\n{text.rstrip(chr(10))}\n```\n"


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    return {PAGE: page()}
