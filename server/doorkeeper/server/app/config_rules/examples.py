"""The examples of rules as files that can be checked, on the page and in tests.

An example says only what matters: for Kafka it is added to ``BASE``, where a key without a value
removes the one of the base. Doorkeeper's examples stand alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from doorkeeper.base import properties
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.server.app.config_rules import containers
from doorkeeper.server.app.config_rules.findings import Product
from doorkeeper.server.app.config_rules.node import ConfigFile
from doorkeeper.server.config import jaas_file
from doorkeeper.server.config.jaas_file import NO_FILE, JaasFile
from doorkeeper.server.config.loading import NO_FILE as NO_CONFIGURATION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.base.entry import Entry
    from doorkeeper.server.app.config_rules.rule import Rule

BASE: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=SASL://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT
inter.broker.listener.name=SASL
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required \
username="admin" password="a" user_admin="a";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:ANONYMOUS
"""


def product_of(rule: Rule) -> Product:
    """Return the product for which the examples of a rule are."""
    return Product.KAFKA if Product.KAFKA in rule.products else Product.DOORKEEPER


def files_of(rule: Rule, example: Mapping[str, str]) -> list[ConfigFile]:
    """Return the files of one of a rule's examples."""
    jaas = _jaas_of(example)
    if "compose.yaml" in example:
        files = containers.files_of(example["compose.yaml"], "compose.yaml")
        return [file._replace(jaas=jaas) for file in files]
    base = BASE if product_of(rule) is Product.KAFKA else ""
    configurations = {
        name: text
        for name, text in example.items()
        if name.endswith(".properties") or name == NO_CONFIGURATION
    }
    others = {name: text.encode() for name, text in example.items() if name not in configurations}
    return [
        ConfigFile(name, _with_base(text.encode(), base, name), text.encode(), jaas, files=others)
        for name, text in configurations.items()
    ]


def _jaas_of(example: Mapping[str, str]) -> JaasFile | None:
    """Return the JAAS file; without one a properties file has none, and a container may have."""
    text = example.get("jaas.conf")
    if text is None:
        return None if "compose.yaml" in example else NO_FILE
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
