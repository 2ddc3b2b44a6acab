"""Schema files of APIs, operations and messages: what is read, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.api.operations import REQUIRED
from doorkeeper_schemas import __main__ as command
from doorkeeper_schemas.apis import OPERATIONS, RESOURCES, ApiEntry, check_messages, read_apis
from doorkeeper_schemas.operations import operations_source
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.declared.schema_file import SchemaError
from testkit.schema_files import ODD, module_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "line",
    [
        "- {key: 3, name: Metadata, needs: []}",
        "- {key: 3, name: Metadata, flexible: 9+}",
        "- {key: 3, name: Metadata, flexible: 9, needs: []}",
        "- {key: 3, name: Metadata, flexible: 9+, needs: [], color: red}",
        "- {key: 3, name: Metadata, flexible: 9+, needs: [], broker: 0}",
        "- {key: 3, name: Metadata, flexible: 9+, needs: [], note: [a, list]}",
        "- {key: 3, name: A, flexible: 9+, needs: []}\n" * 2,
    ],
)
def test_invalid_api_entries(tmp_path: Path, line: str) -> None:
    path = tmp_path / "apis.yaml"
    path.write_text(line)

    with pytest.raises(SchemaError, match=r"apis\.yaml: expected a new key"):
        read_apis(path)


@pytest.mark.parametrize(
    "apis", [{}, {9: ApiEntry("Even", 2)}, {9: ApiEntry("Odd", 1)}], ids=["key", "name", "flexible"]
)
def test_api_entry_must_match_its_message(tmp_path: Path, apis: dict[int, ApiEntry]) -> None:
    text = (
        "api: Odd\nkey: 9\nversions: 0-3\nflexible: 2+\nmeaning: It.\nrequest: []\nresponse: []\n"
    )
    module = module_of(tmp_path, text)
    check_messages(tmp_path, {9: ApiEntry("Odd", 2)}, [module])

    with pytest.raises(SchemaError, match=r"odd\.yaml needs .*key: 9, name: Odd, flexible: 2\+"):
        check_messages(tmp_path, apis, [module])


GOOD = (
    "- key: 29\n  name: DescribeAcls\n  flexible: 2+\n  needs:\n"
    "    - {operation: DESCRIBE, resource: CLUSTER, when: always, refusal: 31}\n"
)


def test_every_api_is_listed() -> None:
    """The table has a row for each API of Kafka, with names that Kafka has."""
    assert set(REQUIRED) == set(ApiKey)
    for requirements in REQUIRED.values():
        for requirement in requirements:
            assert requirement.operation in OPERATIONS
            assert requirement.resource in RESOURCES
            assert requirement.log_if_allowed


def test_operations_are_read(tmp_path: Path) -> None:
    """A row becomes a Requirement under its API's key."""
    path = tmp_path / "apis.yaml"
    path.write_text(GOOD)
    space: dict[str, object] = {"__name__": "doorkeeper.server.api.operations"}

    exec(operations_source(read_apis(path)), space)

    assert repr(space["REQUIRED"]) == repr({29: REQUIRED[29]})


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("DESCRIBE,", "LOOK,", "DescribeAcls: expected operation, resource, when, refusal"),
        ("CLUSTER", "CLOUD", "DescribeAcls: expected operation"),
        ("refusal: 31", "refusal: 31, quiet: yes", "DescribeAcls: expected operation"),
    ],
)
def test_invalid_operations(tmp_path: Path, before: str, after: str, text: str) -> None:
    path = tmp_path / "apis.yaml"
    path.write_text(GOOD.replace(before, after))

    with pytest.raises(SchemaError) as caught:
        read_apis(path)

    assert str(caught.value).startswith(str(path))
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("name: Blob", "name: Blob\n    color: red", "Odd.Blob: unknown keys color; allowed:"),
        ("type: bytes", "type: byte", "Odd.Blob: a list of fields is missing"),
        ("type: bytes", "type: 7", "Odd.Blob: type: found 7; expected: a string"),
        ("versions: 2+", "versions: 9+", "Odd.Level: versions 9+, where 0-2 is possible"),
        ("versions: 2+", "versions: 2", "versions are written as 3+ or 0-3, not 2"),
        ("versions: 0-2", "versions: 0+", "versions must end: 0-N, or M-N"),
        ("default: 7", "default: x", "Odd.Level: default 'x' is not of type int16"),
        ("default: 7", "default: null", "Odd.Level: default null, but the field is not nullable"),
        ("tag: 3", "tag: -3", "Odd.Level: tag must be a number from 0, found -3"),
        ("name: Names", "name: Level", "Odd: duplicate field: level"),
        ("name: Blob", "name: Size", "Odd.Size: the name is taken by the generated code"),
        ("name: Blob", "name: Text", "Odd.Text: the name is taken by the generated code"),
        ("    default: null\n", "", "Odd.Inner: a struct that may be null needs default: null"),
        ("tag: 3", "tag: 3\n    nullable: 0+", "Odd.Level: int16 cannot be nullable"),
        ("ignorable: true", "ignorable: 1", "ignorable must be true or false, found 1"),
        ("type: bytes", "type: bytes\n    fields: []", "Odd.Blob: bytes has no fields"),
        ("message: Odd", "message: Even", "Even belongs in even.yaml"),
        ("meaning: An id.", "meaning: ''", "Odd.Inner.Id: meaning: found"),
        ("fields:\n  - name: Level", "fields:\n  - 5\n  - name: Level", "found 5"),
        ("message: Odd", "message: [", "while parsing"),
    ],
)
def test_invalid_messages(tmp_path: Path, before: str, after: str, text: str) -> None:
    assert before in ODD

    with pytest.raises(SchemaError) as caught:
        module_of(tmp_path, ODD.replace(before, after, 1))

    assert str(caught.value).startswith(str(tmp_path / "odd.yaml"))
    assert text in str(caught.value)


REFUSED = """
api: Refused
key: 9
versions: 1-3
flexible: 2+
listeners: [broker]
request:
  - {name: Size, type: int32}
  - {name: Group, type: string, versions: 2+, resource: GROUP}
response: []
"""


def test_unserved_api_needs_no_descriptions(tmp_path: Path) -> None:
    refused = module_of(tmp_path, REFUSED, "refused")

    assert not refused.meaning
    assert refused.listeners == {"broker"}
    assert [field.resource for field in refused.messages[0].fields] == ["", "GROUP"]
    assert refused.messages[1].fields == ()


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("[broker]", "[zookeeper]", "refused: listeners are of ['broker', 'controller'], not"),
        ("listeners: [broker]\n", "", "RefusedRequest: meaning: found None; expected: a string"),
        ("int32", "int33", "RefusedRequest.Size: a list of fields is missing"),
        ("resource: GROUP", "resource: USER", "RefusedRequest.Group: resource is one of"),
        ("response: []", "response: none", "RefusedResponse: a list of fields is missing"),
    ],
)
def test_invalid_unserved_apis(tmp_path: Path, before: str, after: str, text: str) -> None:
    assert before in REFUSED

    with pytest.raises(SchemaError) as caught:
        module_of(tmp_path, REFUSED.replace(before, after, 1), "refused")

    assert text in str(caught.value)


def test_stale_file_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "stale.py"
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "generated", lambda: iter([(path, "new\n")]))

    assert command.main(["--check"]) == 1
    assert capsys.readouterr().out == "stale, make generate: stale.py\n"
    assert not path.exists()
    assert command.main([]) == 0
    assert path.read_text() == "new\n"


def test_invalid_schema_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "schemas" / "messages"
    folder.mkdir(parents=True)
    (folder / "odd.yaml").write_text("message: Odd\n")

    with pytest.raises(SchemaError, match=r"odd\.yaml"):
        list(command.generated(tmp_path))
