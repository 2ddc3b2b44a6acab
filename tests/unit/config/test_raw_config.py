"""Values by their places, with Kafka's order of prefixes."""

from doorkeeper.config.entry import Entry
from doorkeeper.config.keys import KEYS
from doorkeeper.config.raw_config import KeyPath, RawConfig


def given_of(**texts: str) -> RawConfig:
    """Return what is given: ``a__b`` is ``a.b``."""
    given = RawConfig()
    for name, text in texts.items():
        key = name.replace("_", ".")
        given.add(Entry(key, text, "f line 1"), KeyPath(key), KEYS[key])
    return given


def test_the_nearest_place_decides() -> None:
    """Mechanism, listener, server, default: the first that is given counts."""
    key = KEYS["connections.max.reauth.ms"]
    given = RawConfig()
    assert given.number(key.name, "s", "plain") == 0

    for prefix, place, text in (
        ("", KeyPath(key.name), "1"),
        ("listener.name.s.", KeyPath(key.name, "s"), "2"),
        ("listener.name.s.plain.", KeyPath(key.name, "s", "plain"), "3"),
    ):
        given.add(Entry(prefix + key.name, text, "f"), place, key)
        assert given.number(key.name, "s", "plain") == int(text)

    assert given.number(key.name, "other", "plain") == 1


def test_a_wrong_value_is_noted_and_its_default_stands() -> None:
    """The problem names source, key, what was found and the whole range that is allowed."""
    given = given_of(num_partitions="0")

    assert [str(problem) for problem in given.problems] == [
        "f line 1: num.partitions: found '0'; allowed: a whole number from 1 to 2147483647"
    ]
    assert given.number("num.partitions") == 1


def test_a_value_of_the_wrong_type_hears_of_the_keys_own_range() -> None:
    """What is no number at all is told the range of the key, not of the type."""
    given = given_of(num_partitions="many")

    assert str(given.problems[0]).endswith("allowed: a whole number from 1 to 2147483647")


def test_a_sensitive_value_is_not_shown() -> None:
    """The problem of a sensitive key does not say what was found."""
    given = RawConfig()
    key = KEYS["allow.everyone.if.no.acl.found"]
    given.add(Entry(key.name, "s3cret", "f"), KeyPath(key.name), key)

    assert str(given.problems[0]) == f"f: {key.name}: allowed: true or false"


def test_a_problem_of_a_default_names_the_key_alone() -> None:
    """What nobody gave has no source."""
    given = RawConfig()
    given.problem(KeyPath("listeners"), "is odd")

    assert str(given.problems[0]) == "listeners: is odd"


def test_readers_by_type() -> None:
    """Texts, flags and lists are read as such; empty elements of a list do not count."""
    given = given_of(listeners="A://h:1,, B://h:2", broker_rack=" r1 ", delete_topic_enable="False")

    assert given.list("listeners") == ("A://h:1", "B://h:2")
    assert given.text("broker.rack") == "r1"
    assert not given.flag("delete.topic.enable")
    assert given.text("doorkeeper.catalog.file") == ""
    assert given.value(KeyPath("doorkeeper.catalog.file")) is None
