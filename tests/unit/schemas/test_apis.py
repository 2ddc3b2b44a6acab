"""doorkeeper_schemas.apis."""

from pathlib import Path

import pytest

from doorkeeper_schemas.apis import apis_source, read_apis
from doorkeeper_schemas.model import NEVER
from doorkeeper_schemas.reading import SchemaError


def test_what_is_read_and_written(tmp_path: Path) -> None:
    """Each API has its member, its name and its first flexible version."""
    path = tmp_path / "apis.yaml"
    path.write_text(
        "- {key: 3, name: Metadata, flexible: 9+}\n"
        "- {key: 17, name: SaslHandshake, flexible: never}\n"
    )

    apis = read_apis(path)

    assert apis == {3: ("Metadata", 9), 17: ("SaslHandshake", NEVER)}
    assert "    SASL_HANDSHAKE = 17\n" in apis_source(apis)


@pytest.mark.parametrize(
    "line",
    [
        "- {key: 3, name: Metadata}",
        "- {key: 3, name: Metadata, flexible: 9}",
        "- {key: 3, name: Metadata, flexible: 9+, color: red}",
        "- {key: 3, name: Metadata, flexible: 9+}\n- {key: 3, name: Fetch, flexible: 9+}",
    ],
)
def test_errors(tmp_path: Path, line: str) -> None:
    """An entry that is not complete, or a key that stands there twice, is refused."""
    path = tmp_path / "apis.yaml"
    path.write_text(line)

    with pytest.raises(SchemaError, match=r"apis\.yaml: expected a new key"):
        read_apis(path)
