"""Which key a name means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.config.keys import KEYS
from doorkeeper.config.naming import Named, edits, is_for_plug_ins, named, resembling


def test_plain_names() -> None:
    """A name without prefix is a key with effect, one without, or unknown."""
    assert named("node.id") == Named(KEYS["node.id"])
    assert named("log.dirs") == Named(without_effect=True)
    assert named("zookeeper.connect") == Named(without_effect=True)
    assert named("com.example.plugin") == Named()


def test_prefixed_names() -> None:
    """A listener and a mechanism may stand before keys that allow it."""
    jaas = KEYS["sasl.jaas.config"]

    assert named("listener.name.sasl.plain.sasl.jaas.config") == Named(jaas, "sasl", "plain")
    assert named("listener.name.s.sasl.enabled.mechanisms") == Named(
        KEYS["sasl.enabled.mechanisms"], "s"
    )
    assert named("listener.name.plain.plain.connections.max.reauth.ms") == Named(
        KEYS["connections.max.reauth.ms"], "plain", "plain"
    )
    assert named("listener.name.s.max.connections") == Named(KEYS["max.connections"], "s")
    assert named("listener.name.s.ssl.keystore.location") == Named(
        KEYS["ssl.keystore.location"], "s"
    )
    assert named("listener.name.s.oauthbearer.sasl.oauthbearer.expected.issuer") == Named(
        KEYS["sasl.oauthbearer.expected.issuer"], "s", "oauthbearer"
    )


def test_a_prefix_that_a_key_does_not_take_takes_its_effect() -> None:
    """Kafka ignores a prefix before a key of the whole server; so do we, and say so."""
    assert named("listener.name.s.num.partitions") == Named(without_effect=True)
    assert named("listener.name.s.ssl.provider") == Named(without_effect=True)
    assert named("listener.name.s.gssapi.sasl.kerberos.service.name") == Named(without_effect=True)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("num.partitons", "num.partitions"),
        ("listners", "listeners"),
        ("super.user", "super.users"),
        ("autohrizer.class.name", "authorizer.class.name"),
        ("node_id", "node.id"),
        ("log.dir.", "log.dir"),
        ("listener.name.s.plain.sasl.jass.config", "listener.name.s.plain.sasl.jaas.config"),
        ("doorkeeper.datadir", "doorkeeper.data.dir"),
    ],
)
def test_a_slip_names_the_known_key(name: str, known: str) -> None:
    """A name at most two edits from a known key is taken for a slip."""
    assert named(name) == Named(resembles=known)


def test_three_edits_are_too_many() -> None:
    """What is further away is a name of its own."""
    assert resembling("num.partitions.for.us") is None


@pytest.mark.parametrize(
    ("left", "right", "count"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ac", 1), ("abc", "xbcd", 2), ("a", "bcde", 3)],
)
def test_edits_are_counted(left: str, right: str, count: int) -> None:
    """Neighbours that change places are one edit."""
    assert edits(left, right) == count


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_edits_agree_with_the_plain_definition(left: str, right: str) -> None:
    """The distance is symmetric, zero only for equals, and that of the recursive definition."""

    def distance(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        best = min(
            distance(a[1:], b) + 1,
            distance(a, b[1:]) + 1,
            distance(a[1:], b[1:]) + (a[0] != b[0]),
        )
        if len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0]:
            best = min(best, distance(a[2:], b[2:]) + 1)
        return best

    assert edits(left, right) == edits(right, left) == min(distance(left, right), 3)


def test_keys_of_plug_ins_have_the_prefix_of_a_listener() -> None:
    """And nobody declares them: neither Kafka nor we."""
    assert is_for_plug_ins("listener.name.door.plain.ldap.url")
    assert is_for_plug_ins("listener.name.door.ldap.url", "DOOR")
    assert not is_for_plug_ins("listener.name.other.ldap.url", "DOOR")
    for known in ("ldap.url", "listener.name.door.ssl.provider", "listener.name.door.ssl.protocol"):
        assert not is_for_plug_ins(known)
