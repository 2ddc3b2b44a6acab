"""doorkeeper_schemas.operations, and the table that is made from it."""

from pathlib import Path

import pytest

from doorkeeper.api.operations import REQUIRED, Requirement
from doorkeeper_schemas.operations import OPERATIONS, RESOURCES, operations_source
from doorkeeper_schemas.reading import SchemaError
from doorkeeper_wire.api_keys import ApiKey

APIS = {29: ("DescribeAcls", 2)}
GOOD = (
    "- api: DescribeAcls\n  key: 29\n  needs:\n"
    "    - {operation: DESCRIBE, resource: CLUSTER, when: always, refusal: 31}\n"
)


def test_every_api_is_there() -> None:
    """The table has a row for each API of Kafka, with names that Kafka has."""
    assert set(REQUIRED) == set(ApiKey)
    for requirements in REQUIRED.values():
        for requirement in requirements:
            assert requirement.operation in OPERATIONS
            assert requirement.resource in RESOURCES
            assert requirement.log_if_allowed


def test_source(tmp_path: Path) -> None:
    """A row becomes a Requirement under its API's key."""
    path = tmp_path / "operations.yaml"
    path.write_text(GOOD)
    space: dict[str, dict[int, tuple[Requirement, ...]]] = {"__name__": "doorkeeper.api.operations"}  # type: ignore[dict-item]

    exec(operations_source(path, APIS), space)

    assert repr(space["REQUIRED"]) == repr({29: REQUIRED[29]})


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("DESCRIBE,", "LOOK,", "DescribeAcls: expected operation, resource, when, refusal"),
        ("CLUSTER", "CLOUD", "DescribeAcls: expected operation"),
        ("refusal: 31", "refusal: 31, quiet: yes", "DescribeAcls: expected operation"),
        ("key: 29", "key: 30", "expected a new api"),
        ("key: 29", "key: 29\n  note: [a, list]", "expected a new api"),
        (GOOD, "[]", "nothing is said of DescribeAcls"),
    ],
)
def test_errors(tmp_path: Path, before: str, after: str, text: str) -> None:
    """A row with an unknown word, and an API that is left out, are refused."""
    path = tmp_path / "operations.yaml"
    path.write_text(GOOD.replace(before, after))

    with pytest.raises(SchemaError) as caught:
        operations_source(path, APIS)

    assert str(caught.value).startswith(str(path))
    assert text in str(caught.value)
