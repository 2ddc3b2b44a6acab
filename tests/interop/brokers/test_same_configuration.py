"""Keys, JAAS entries and the rules between listeners, compared with Kafka's own code."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base import jaas
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.key import Dynamic
from doorkeeper.server.config import jaas_file
from doorkeeper.server.config.kafka_keys import without_effect
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.naming import is_without_effect
from doorkeeper.server.config.sasl import MODULES
from testkit.java_lines import JavaLines
from testkit.kafka_jars import VERSIONS, jars
from testkit.or_skip import or_skip
from testkit.settings import problems_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(__file__).parents[1] / "configuration"
REFERENCE = VERSIONS[0]


@pytest.fixture(scope="module")
def kafka() -> Iterator[JavaLines]:
    """Give Kafka's configuration classes, ready for questions."""
    found = or_skip(lambda: jars(REFERENCE, PROGRAM))
    lines = JavaLines(found, "ConfigurationOracle")
    yield lines
    lines.close()


def test_keys_match_the_broker(kafka: JavaLines) -> None:
    """Names, types and defaults are Kafka's, whether a key has an effect here or not."""
    theirs = {name: tuple(row) for name, row in kafka.ask({"ask": "keys"}).items()}
    ours = {
        key.name: (key.type.name, key.default)
        for key in (*without_effect().values(), *KEYS.values())
        if key.declared and not key.ours
    }

    # The order in which Java prints this map is nobody's promise.
    protocols = "listener.security.protocol.map"
    assert sorted(theirs[protocols][1].split(",")) == sorted((ours[protocols][1] or "").split(","))
    del theirs[protocols], ours[protocols]
    assert ours == theirs


def test_keys_of_3_9_1_are_known() -> None:
    older = VERSIONS[1]
    lines = or_skip(lambda: JavaLines(jars(older, PROGRAM), "ConfigurationOracle"))
    theirs = lines.ask({"ask": "keys"})
    lines.close()

    unknown = sorted(name for name in theirs if name not in KEYS and not is_without_effect(name))
    assert unknown == []
    assert len(theirs) > 300


UNDECLARED = {
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
}
"""Rates of replication, which are dynamic values only: no file of a broker may have them."""


def test_dynamic_keys_match_the_broker(kafka: JavaLines) -> None:
    theirs = {name: frozenset(keys) for name, keys in kafka.ask({"ask": "dynamic"}).items()}

    def ours(*of: Dynamic) -> set[str]:
        keys = (*without_effect().values(), *KEYS.values())
        return {key.name for key in keys if key.in_kafka in of}

    assert theirs["ALL_DYNAMIC_CONFIGS"] - UNDECLARED == ours(*Dynamic)
    assert theirs["PER_BROKER_CONFIGS"] == ours(Dynamic.LISTENER, Dynamic.BROKER)
    assert theirs["DYNAMIC_SECURITY_CONFIGS"] == ours(Dynamic.LISTENER)
    assert theirs["CLUSTER_LEVEL_LISTENER_CONFIGS"] == ours(Dynamic.CLUSTER_LISTENER)


PIECES = (
    *("m.N", "required", "OPTIONAL", "user_bob", "k", "=", '"', "'", ";", " ", "\n", "\r"),
    *("/", "//", "/*", "*/", "\\", "\\1", "\\477", "\\n", "9", ".", "-", "-5", "$", "_"),
    *("\xe9", "\x85", "\u4e2d", '"x y"', "'z'", 'k="v"', "k=v", "k=9", "#", "*"),
)


def test_jaas_entries_are_parsed_alike(kafka: JavaLines) -> None:
    chance = random.Random(7)
    for _ in range(3000):
        text = "".join(chance.choices(PIECES, k=chance.randrange(10)))
        if chance.random() < 0.7:
            text = f"m.N required {text};"
        theirs = kafka.ask({"ask": "jaas", "text": text})
        try:
            ours = [[each.name, each.flag, dict(each.options)] for each in jaas.parse(text)]
        except jaas.JaasError:
            assert theirs is None, text
        else:
            assert ours == theirs, text


SECTION_PIECES = (
    *("m.N", "required", "OPTIONAL", "user_bob", "k", "=", '"', "'", ";", " ", "\n", "\r\n"),
    *("/", "//", "/*", "*/", "\\", "\\101", "9", "-5", "$", "*", "{", "}", "};", "A", "B {"),
    *("\xe9", "\u4e2d", '"x y"', "'z'", 'k="v"', "k=v", "k=9", "#", ",", '""', '"${/}"'),
    *('k="${/}x${"', 'k="${{a}}${/}"', 'k="${no.such}"', 'k="${}"', 'k="a${{b}"'),
)
SECTION_NAMES = ("A", "B", "k", "x y", "v", "")


def sections(text: str) -> dict[str, list[list[object]] | None] | None:
    """Return what our parser makes of a file, in the oracle's form."""
    try:
        found = jaas_file.parse(text, {"/": "/"})
    except jaas.JaasError:
        return None
    return {
        name: [[each.name, each.flag, dict(each.options)] for each in found.get(name, ())] or None
        for name in SECTION_NAMES
    }


def jaas_text(chance: random.Random) -> str:
    """Return the text of a file with a section or two, likely to have a fault."""
    text = ""
    for _ in range(chance.choice((1, 1, 2))):
        body = "".join(chance.choices(SECTION_PIECES, k=chance.choice((0, 1, 1, 2, 5))))
        module = f'm.N required {body} k="v";' if chance.random() < 0.7 else body
        name = chance.choice(("A", "B", '"x y"', "k"))
        text += f"{name} {{ {module} }};" if chance.random() < 0.8 else f"{name} {module}"
    return text


def test_jaas_files_are_parsed_alike(kafka: JavaLines) -> None:
    """Of four thousand random texts each gives the same sections as Java, or is refused by both."""
    chance = random.Random(13)
    agreed = {True: 0, False: 0}
    for _ in range(4000):
        text = jaas_text(chance)
        theirs = kafka.ask({"ask": "file", "text": text, "names": list(SECTION_NAMES)})
        ours = sections(text)
        assert ours == theirs, text
        agreed[ours is not None] += 1

    assert min(agreed.values()) > 500, agreed


def test_login_module_selection_matches_the_broker(kafka: JavaLines) -> None:
    chance = random.Random(17)
    seen = {"module": 0, "none": 0}
    for number in range(600):
        mechanism = chance.choice(("PLAIN", "SCRAM-SHA-256", "GSSAPI"))
        blocks = chance.sample(("KafkaServer", "sasl.KafkaServer", "SASL.KafkaServer", "Client"), 2)
        text = ""
        for block in blocks:
            own = f'{MODULES[mechanism][0]} required from="{block}";'
            text += f"{block} {{ {own if chance.random() < 0.7 else ''} }};\n"
        short = chance.choice(("sasl.jaas.config", f"{mechanism.lower()}.sasl.jaas.config"))
        given = f"{MODULES[mechanism][0]} required from=key;"
        keys = {short: given} if chance.random() < 0.5 else {}
        asked = {"ask": "server", "listener": "SASL", "mechanism": mechanism, "text": text}
        theirs = kafka.ask({**asked, "keys": keys})

        ours = module_of(mechanism, text, {f"listener.name.sasl.{k}": v for k, v in keys.items()})

        assert ours == (theirs[0][2]["from"] if theirs else None), (number, text, keys)
        seen["module" if ours else "none"] += 1

    assert min(seen.values()) > 30, seen


def module_of(mechanism: str, text: str, keys: dict[str, str]) -> str | None:
    """Return where our login module comes from."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "jaas.conf")
        file.write_text(text)
        lines = (
            "listeners=SASL://localhost:1\nlistener.security.protocol.map=SASL:SASL_PLAINTEXT",
            f"sasl.enabled.mechanisms={mechanism}",
            f"doorkeeper.jaas.file={file}",
            *(f"{key}={value}" for key, value in keys.items()),
        )
        try:
            (listener,) = settings_of("\n".join(lines)).listeners
        except ConfigError:
            return None
    module = listener.mechanisms[0].login_module
    return None if module is None else module.options["from"]


BROKER = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
}
HOSTS = ("localhost", "127.0.0.1", "[::1]", "", "0.0.0.0", "a.example")
NAMES = ("PLAINTEXT", "A", "b")


def listener(chance: random.Random) -> str:
    """Return an element of listeners."""
    port = chance.choice((9092, 9094, 9095, 0))
    return f"{chance.choice(NAMES)}://{chance.choice(HOSTS)}:{port}"


def broker_keys(chance: random.Random) -> dict[str, str]:
    """Return the keys of a broker whose listeners may break a rule."""
    listeners = [listener(chance) for _ in range(chance.choice((1, 1, 2, 3)))]
    keys = {**BROKER, "listeners": ",".join([*listeners, "CONTROLLER://localhost:9093"])}
    if chance.random() < 0.8:
        protocols = [*NAMES, "CONTROLLER"]
        if chance.random() < 0.2:
            protocols.pop(chance.randrange(4))
        keys["listener.security.protocol.map"] = ",".join(f"{n}:PLAINTEXT" for n in protocols)
    if chance.random() < 0.4:
        keys["advertised.listeners"] = ",".join(
            {each.partition(":")[0]: each for each in listeners}.values()
        )
    elif chance.random() < 0.2:
        keys["advertised.listeners"] = f"{listener(chance)},{listener(chance)}"
    if chance.random() < 0.7:
        keys["inter.broker.listener.name"] = chance.choice((*NAMES, "B", "CONTROLLER"))
    if chance.random() < 0.2:
        # Here alone Kafka takes names as they are written; we take them in any case.
        keys["early.start.listeners"] = chance.choice(("A", "B", "PLAINTEXT", "CONTROLLER"))
    return keys


def lenient(keys: dict[str, str]) -> bool:
    """Say whether our one leniency applies: nothing names the listener between nodes."""
    return "inter.broker.listener.name" not in keys


def test_listener_rules_match_kafka(kafka: JavaLines) -> None:
    chance = random.Random(11)
    agreed = {True: 0, False: 0}
    for _ in range(1000):
        keys = broker_keys(chance)
        theirs = kafka.ask({"ask": "check", "keys": keys})
        ours = problems_of("".join(f"{key}={value}\n" for key, value in keys.items()))
        if lenient(keys) and not ours:
            continue
        assert (theirs is None) == (not ours), (keys, theirs, ours)
        agreed[not ours] += 1

    assert min(agreed.values()) > 50, agreed
