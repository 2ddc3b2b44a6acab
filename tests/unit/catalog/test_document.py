"""Values of a YAML document: what they are read as, and what is noted where."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from doorkeeper.catalog.document import FaultList, YamlValue, parse


def value_of(text: str) -> tuple[YamlValue, FaultList]:
    """Return the document of a text that is YAML."""
    faults = FaultList("c.yaml")
    value = parse(text, faults)
    assert value is not None
    return value, faults


def noted(faults: FaultList) -> list[tuple[int, str, str]]:
    """Return line, place and text of each fault."""
    return [(each.line, each.path, each.text) for each in faults.problems]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_is_no_document(text: str) -> None:
    """And no fault."""
    faults = FaultList("c.yaml")
    value = parse(text, faults)

    assert value is None or value.is_null()
    assert faults.problems == []


@pytest.mark.parametrize(
    ("text", "line"), [("a: [1\nb: 2\n", 2), ("a: b: c\n", 1), ("a: *x\n", 1), ("a\0b", 0)]
)
def test_what_is_no_yaml_is_one_fault(text: str, line: int) -> None:
    """With the line, where the parser knows it."""
    faults = FaultList("c.yaml")

    assert parse(text, faults) is None
    (fault,) = faults.problems
    assert fault.line == line
    assert fault.text.startswith("invalid YAML: ")


def test_nesting_without_end_is_a_fault() -> None:
    """Not a crash of the reader."""
    faults = FaultList("c.yaml")

    value = parse("[" * 20_000, faults)

    assert value is None
    assert len(faults.problems) == 1


@pytest.mark.parametrize(("text", "read"), [("orders", "orders"), ("'1'", "1"), ('"no"', "no")])
def test_texts_are_as_written(text: str, read: str) -> None:
    """Quotes make a text of everything."""
    value, faults = value_of(text)

    assert value.text() == read
    assert faults.problems == []


@pytest.mark.parametrize("text", ["1", "1.5", "true", "no", "[a]", "{a: b}"])
def test_what_yaml_takes_for_something_else_is_no_text(text: str) -> None:
    """A hint at quotes, where quotes would help."""
    value, faults = value_of(text)

    assert value.text() is None
    ((line, path, fault),) = noted(faults)
    assert (line, path) == (1, "")
    assert fault.startswith("must be a text, not ")
    assert fault.endswith("put quotes around it") == (text[0] not in "[{")


def test_an_empty_text_may_be_allowed() -> None:
    """By default it is a fault."""
    value, faults = value_of("''")

    assert value.text(allow_empty=True) == ""
    assert faults.problems == []
    assert value.text() is None
    assert noted(faults) == [(1, "", "must not be empty")]


@pytest.mark.parametrize(
    ("text", "read"),
    [("86400000", "86400000"), ("0.50", "0.50"), ("yes", "true"), ("False", "false"), ("''", "")],
)
def test_scalars_become_texts(text: str, read: str) -> None:
    """Numbers as written, booleans as Kafka spells them."""
    value, faults = value_of(text)

    assert value.scalar() == read
    assert faults.problems == []


@pytest.mark.parametrize("text", ["1", "3", "10"])
def test_numbers_within_bounds(text: str) -> None:
    """Both bounds are allowed."""
    value, faults = value_of(text)

    assert value.number(1, 10) == int(text)
    assert faults.problems == []


@pytest.mark.parametrize("text", ["0", "11", "-1", "1.0", "'1'", "x", "0x3", "010", "1_0", "[1]"])
def test_numbers_out_of_bounds_or_shape(text: str) -> None:
    """Only plain decimal numbers: other forms mean other things to other readers."""
    value, faults = value_of(text)

    assert value.number(1, 10) is None
    ((_, _, fault),) = noted(faults)
    assert fault.startswith("must be a whole number from 1 to 10, not ")


@pytest.mark.parametrize(("text", "read"), [("true", True), ("off", False)])
def test_booleans(text: str, read: Any) -> None:
    """In YAML's spellings."""
    value, faults = value_of(text)

    assert value.boolean() is read
    assert faults.problems == []


@pytest.mark.parametrize(
    ("method", "text", "fault"),
    [
        ("boolean", "1", "must be true or false, not '1'"),
        ("items", "a", "must be a list, not 'a'"),
        ("items", "{a: b}", "must be a list, not a mapping"),
        ("entries", "[a]", "must be a mapping, not a list"),
        ("scalar", "[a]", "must be a single value, not a list"),
        ("scalar", "~", "must be a single value, not nothing"),
    ],
)
def test_wrong_kinds_are_noted_and_read_as_nothing(method: str, text: str, fault: str) -> None:
    """Reading goes on with an empty value."""
    value, faults = value_of(text)

    assert not getattr(value, method)()
    assert noted(faults) == [(1, "", fault)]


def test_values_know_their_place() -> None:
    """Line, keys and indexes."""
    value, faults = value_of("topics:\n  - name: a\n  - name:\n      - b\n")

    fields = value.entries()["topics"].items()[1].entries()
    assert fields["name"].items()[0].path == "topics[1].name[0]"
    fields["name"].fault("here")
    assert noted(faults) == [(4, "topics[1].name", "here")]


def test_known_keys_are_kept_and_others_noted() -> None:
    """With the key that was probably meant; empty values count as absent."""
    value, faults = value_of("nmae: x\nid:\nzzz: 1\nname: y\n")

    fields = value.fields(("name", "id"), required=("name", "id"))

    assert list(fields) == ["name"]
    assert sorted(noted(faults)) == [
        (1, "", "lacks id"),
        (1, "nmae", "unknown key; did you mean name?"),
        (3, "zzz", "unknown key; known are name, id"),
    ]


def test_keys_occur_once_and_are_single_values() -> None:
    """YAML itself would silently take the last."""
    value, faults = value_of("a: 1\na: 2\n[b]: 3\n")

    assert list(value.entries()) == ["a"]
    assert noted(faults) == [
        (2, "a", "occurs twice"),
        (3, "", "a key must be a single value"),
    ]


def test_long_values_are_cut_in_faults() -> None:
    """A fault is a line to read."""
    value, faults = value_of("x" * 500)

    value.items()

    assert len(faults.problems[0].text) < 120


def test_the_loader_builds_no_objects() -> None:
    """A tag that asks for a Python object is text at most."""
    value, _ = value_of("!!python/object/apply:os.system ['true']")

    assert value.text() is None
    assert issubclass(yaml.CSafeLoader, yaml.constructor.SafeConstructor)


def test_texts_are_no_longer_than_a_message_carries() -> None:
    """In bytes of UTF-8; what no message carries as a text may be longer."""
    longest, longer = "é" * 16383, "é" * 16384

    value, faults = value_of(longest)
    assert value.text() == value.scalar() == longest
    assert faults.problems == []
    value, faults = value_of(longer)
    assert value.raw_text() == longer
    assert value.text() is None
    assert value.scalar() is None
    assert noted(faults) == [(1, "", "takes 32768 bytes; at most 32767")] * 2


def test_half_of_a_surrogate_pair_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML without its C parser lets it in."""
    monkeypatch.setattr("doorkeeper.catalog.document._LOADER", yaml.SafeLoader)
    value, faults = value_of(r'"a\ud800"')

    assert value.text() is None
    assert noted(faults) == [(1, "", "holds half of a surrogate pair, which is no character")]
