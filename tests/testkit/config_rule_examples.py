"""The examples of the rules of configurations as files that can be checked, and on their page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from doorkeeper.base import properties
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.server.app.config_rules import containers
from doorkeeper.server.app.config_rules.rule import RULES, Product
from doorkeeper.server.app.rule_texts import FILE
from doorkeeper.server.config import jaas_file
from doorkeeper.server.config.jaas_file import NO_FILE, JaasFile
from doorkeeper.server.config.loading import NO_FILE as NO_CONFIGURATION
from doorkeeper.server.config.loading import ConfigFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.base.entry import Entry
    from doorkeeper.server.app.config_rules.rule import Rule

PROPERTIES: Final = "server.properties"
"""The file name of an example that is a single text."""

_TABLES: Final = msgspec.toml.decode(FILE.read_bytes())
_BASES: Final[Mapping[str, str]] = _TABLES["bases"]

BASE: Final = _BASES["Kafka"]
"""To which each example for Kafka is added."""


def example(code: str, kind: str) -> Mapping[str, str]:
    """Return an example of a rule, ``wrong`` or ``right``: its texts by file name, in full."""
    table = _TABLES[code]
    found = table.get(kind, "")
    files = {PROPERTIES: found} if isinstance(found, str) else found
    return {name: _written(text, table.get("base", name)) for name, text in files.items()}


def _written(text: str, name: str) -> str:
    """Return a text with the lines of its base whose keys it does not have."""
    base = _BASES.get(name)
    if base is None:
        return text
    own = {line.partition("=")[0]: line for line in text.splitlines()}
    lines = []
    for line in base.splitlines():
        changed = own.pop(line.partition("=")[0], None)
        if changed is None or not changed.endswith("="):
            lines.append(line if changed is None else changed)
    return "".join(f"{line}\n" for line in (*lines, *own.values()))


def product_of(rule: Rule) -> Product:
    """Return the product for which the examples of a rule are."""
    return Product.KAFKA if Product.KAFKA in rule.products else Product.DOORKEEPER


def files_of(code: str, kind: str) -> list[ConfigFile]:
    """Return the files of one of a rule's examples."""
    texts = example(code, kind)
    jaas = _jaas_of(texts)
    if "compose.yaml" in texts:
        files = containers.files_of(texts["compose.yaml"], "compose.yaml")
        return [file._replace(jaas=jaas) for file in files]
    base = BASE if product_of(RULES[code]) is Product.KAFKA else ""
    configurations = {
        name: text
        for name, text in texts.items()
        if name.endswith(".properties") or name == NO_CONFIGURATION
    }
    others = {name: text.encode() for name, text in texts.items() if name not in configurations}
    return [
        ConfigFile(name, _with_base(text.encode(), base, name), text.encode(), jaas, files=others)
        for name, text in configurations.items()
    ]


def _jaas_of(texts: Mapping[str, str]) -> JaasFile | None:
    """Return the JAAS file; without one a properties file has none, and a container may have."""
    text = texts.get("jaas.conf")
    if text is None:
        return None if "compose.yaml" in texts else NO_FILE
    return JaasFile("jaas.conf", jaas_file.parse(text, {})) if text else None


def _with_base(data: bytes, base: str, name: str) -> list[Entry]:
    try:
        entries = properties.parse(data, name)
    except ConfigError as error:
        entries = list(error.entries)
    own = {entry.key for entry in entries}
    before = [replace(entry, source="base") for entry in properties.parse(base.encode(), "")]
    removed = {entry.key for entry in before} & {entry.key for entry in entries if not entry.value}
    others_of_base = [entry for entry in before if entry.key not in own]
    return [*others_of_base, *(entry for entry in entries if entry.key not in removed)]
