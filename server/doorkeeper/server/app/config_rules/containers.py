"""The environment of container images of Kafka as properties, and its rules C8.

The official image ``apache/kafka`` and Confluent's ``cp-kafka`` make a key of each variable
``KAFKA_...``: in lower case, with ``_`` for a dot, ``__`` for ``_`` and ``___`` for a hyphen.
Bitnami's image takes ``KAFKA_CFG_...``.

Source: ``KafkaDockerWrapper`` (4.3.1); the scripts of Confluent's image; the specification of
Compose for ``$``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from doorkeeper.base import properties
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.entry import Entry, Problem
from doorkeeper.server.app.config_rules.keys import bare_name, is_known, is_security_key
from doorkeeper.server.app.config_rules.node import Node, addresses_in
from doorkeeper.server.app.config_rules.rule import WARNING, rule
from doorkeeper.server.config.environment import PREFIX, key_of_variable
from doorkeeper.server.config.loading import ConfigFile

_BITNAMI: Final = "KAFKA_CFG_"
_IMAGES: Final = re.compile(r"(^|/)(kafka|kafka-native|cp-kafka|cp-server|confluent-local)([:@]|$)")
_NO_KEYS: Final = frozenset(
    {
        *("KAFKA_VERSION", "KAFKA_OPTS", "KAFKA_HEAP_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_JMX_OPTS"),
        *("KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_GC_LOG_OPTS", "KAFKA_LOG4J_ROOT_LOGLEVEL"),
        *("KAFKA_LOG4J_LOGGERS", "KAFKA_TOOLS_LOG4J_LOGLEVEL", "KAFKA_JMX_HOSTNAME"),
        *("KAFKA_JMX_PORT", "KAFKA_HOME", "KAFKA_CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID"),
    }
)
"""Variables that are not keys."""

_DEFAULT: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}")
_EATEN: Final = re.compile(r"(?<!\$)(?:\$\$)*\$(?![{$])(\w*)")
_SECRETS: Final = "/etc/kafka/secrets/"
_FILLED: Final = "${a file of the container}"


class NotCompose(ValueError):
    """The text is not a Compose file with a service of Kafka."""


def variable_of_key(key: str) -> str:
    """Return the variable that the images turn into a key."""
    text = key.replace("_", "\1").replace("-", "___").replace(".", "_").replace("\1", "__")
    return PREFIX + text.upper()


def files_of(text: str, name: str) -> list[ConfigFile]:
    """Return the configuration of each service of Kafka in a Compose file.

    Raises:
        NotCompose: it is not YAML, or has no service of Kafka.
    """
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise NotCompose(f"{name}: not YAML: {' '.join(str(error).split())}") from error
    services = _child(root, "services")
    files = []
    for service, node in _pairs(services):
        variables = list(_variables(_child(node, "environment"), name))
        image = getattr(_child(node, "image"), "value", "")
        if _is_kafka(str(image), [entry.key for entry in variables]):
            files.append(_file_of(f"{name} service {service}", variables, str(image)))
    if not files:
        raise NotCompose(f"{name}: no service has an image of Kafka and variables KAFKA_...")
    return files


def _is_kafka(image: str, names: list[str]) -> bool:
    """Return whether a service runs a broker or controller: other tools have variables too."""
    telling = {"KAFKA_PROCESS_ROLES", "KAFKA_LISTENERS", "KAFKA_ADVERTISED_LISTENERS"}
    telling |= {"KAFKA_CFG_PROCESS_ROLES", "KAFKA_CFG_LISTENERS", "KAFKA_ZOOKEEPER_CONNECT"}
    return bool(telling & set(names)) or (
        _IMAGES.search(image) is not None and any(name.startswith(PREFIX) for name in names)
    )


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  a node of PyYAML
    """Yield names and nodes of a mapping, those of ``<<`` first."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if key.value != "<<":
            continue
        merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
        for mapping in merged:
            yield from _pairs(mapping)
    for key, value in node.value:
        if key.value != "<<":
            yield str(key.value), value


def _child(node: Any, name: str) -> Any:  # noqa: ANN401  a node of PyYAML
    return dict(_pairs(node)).get(name)


def _variables(node: Any, name: str) -> Iterator[Entry]:  # noqa: ANN401  a node of PyYAML
    """Yield the variables of an ``environment``, which is a mapping or a list."""
    import yaml

    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            variable, equals, value = str(item.value).partition("=")
            if equals:
                yield Entry(variable.strip(), value, f"{name} line {item.start_mark.line + 1}")
    for variable, value in _pairs(node):
        line = value.start_mark.line + 1
        yield Entry(variable, str(getattr(value, "value", "")), f"{name} line {line}")


def _file_of(name: str, variables: list[Entry], image: str) -> ConfigFile:
    problems = []
    entries, more = [], []
    for entry in dict((entry.key, entry) for entry in variables).values():  # noqa: C402
        eaten = _EATEN.search(entry.value)
        if eaten is not None and entry.key.startswith(PREFIX):
            text = f"Compose replaces {eaten[0]} with an environment variable: write ${eaten[0]}"
            problems.append(Problem(entry.source, entry.key, text))
        value = _DEFAULT.sub(lambda match: match[2] or match[0], entry.value).replace("$$", "$")
        is_key = entry.key.startswith(PREFIX) and entry.key not in _NO_KEYS
        if is_key and (entry.key.startswith(_BITNAMI) or "bitnami" not in image):
            key = key_of_variable(re.sub(f"^{_BITNAMI}", PREFIX, entry.key))
            entries.append(Entry(key, _as_written(key, value), entry.source))
        else:
            more.append(replace(entry, value=value))
    return ConfigFile(name, _completed(entries), more=more, is_image=True, dollar_signs=problems)


def _as_written(key: str, value: str) -> str:
    """Return a value as a node reads it: the images write KEY=VALUE into a properties file."""
    try:
        written = properties.parse(f"{key}={value}\n".encode("latin-1", "replace"), "")
    except ConfigError:
        return value
    return next((entry.value for entry in written if entry.key == key), value)


def _completed(entries: list[Entry]) -> list[Entry]:
    """Return the entries with those that the images derive from them."""
    by_key = {entry.key: entry for entry in entries}
    made = []
    for kind in ("keystore", "truststore"):
        for suffix, target in (("filename", "location"), ("credentials", "password")):
            entry = by_key.get(f"ssl.{kind}.{suffix}")
            if entry is not None:
                value = _SECRETS + entry.value if suffix == "filename" else _FILLED
                made.append(Entry(f"ssl.{kind}.{target}", value, entry.source))
    if "ssl.key.credentials" in by_key:
        made.append(Entry("ssl.key.password", _FILLED, by_key["ssl.key.credentials"].source))
    advertised = by_key.get("advertised.listeners")
    if advertised is not None and "listeners" not in by_key:
        addresses = addresses_in(advertised.value)
        text = ",".join(f"{name}://0.0.0.0:{port}" for name, _, port in addresses)
        made.append(Entry("listeners", text, advertised.source))
    return [*made, *entries]


@rule("C801", WARNING)
def dollar_sign(node: Node) -> Iterator[Problem]:
    return iter(node.file.dollar_signs)


@rule("C802", WARNING)
def variable_of_no_key(node: Node) -> Iterator[Problem]:
    if not node.file.is_image:
        return
    for entry in node.entries.values():
        bare = bare_name(entry.key)
        if is_known(bare) or not is_security_key(entry.key) or entry.key in _OF_IMAGES:
            continue
        right = _likely(entry.key)
        hint = f": write {variable_of_key(right)}" if right else ""
        yield node.at(entry, f"unknown key{hint}")


_OF_IMAGES: Final = frozenset(
    {f"ssl.{kind}.{end}" for kind in ("keystore", "truststore") for end in ("filename",
     "credentials")} | {"ssl.key.credentials", "super.users", "allow.everyone.if.no.acl.found"}
)  # fmt: skip
_LIKELY: Final = (
    ("scram.sha.256", "scram-sha-256"), ("scram.sha.512", "scram-sha-512"),
    ("sasl.plaintext.", "sasl_plaintext."), ("sasl.ssl.", "sasl_ssl."),
    ("scram_sha_256", "scram-sha-256"), ("scram_sha_512", "scram-sha-512"),
)  # fmt: skip


def _likely(key: str) -> str:
    """Return the key that was meant by one with other separators; empty if it is not clear."""
    for text, right in _LIKELY:
        if text in key:
            return key.replace(text, right, 1)
    return ""


@rule("C803", WARNING)
def variable_without_prefix(node: Node) -> Iterator[Problem]:
    for entry in node.file.more:
        key = key_of_variable(PREFIX + entry.key)
        if "_" in entry.key and (is_known(key) and is_security_key(key)):
            yield node.at(entry, f"does not map to a key: write {PREFIX}{entry.key}")
    for entry in node.entries.values():
        if entry.key.startswith("cfg."):
            right = variable_of_key(entry.key.removeprefix("cfg."))
            yield node.at(entry, f"KAFKA_CFG_ is Bitnami's prefix: write {right}")


@rule("C804", WARNING)
def unchecked_jaas_file(node: Node) -> Iterator[Problem]:
    for entry in node.file.more:
        if "java.security.auth.login.config" in entry.value and node.file.jaas is None:
            yield node.at(entry, "refers to a JAAS file: pass it with --jaas-file")
