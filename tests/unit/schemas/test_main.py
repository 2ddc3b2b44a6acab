"""The command python -m doorkeeper_schemas."""

from pathlib import Path

import pytest

from doorkeeper_schemas import __main__ as command
from doorkeeper_schemas.reading import SchemaError


def test_a_stale_file_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """--check names a stale file and changes nothing; without it the file is written."""
    path = tmp_path / "stale.py"
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "generated", lambda: iter([(path, "new\n")]))

    assert command.main(["--check"]) == 1
    assert capsys.readouterr().out == "stale: stale.py\n"
    assert not path.exists()
    assert command.main([]) == 0
    assert path.read_text() == "new\n"


def test_a_bad_schema_ends_the_command(tmp_path: Path) -> None:
    """A schema error is a line, not a traceback."""
    folder = tmp_path / "schemas" / "messages"
    folder.mkdir(parents=True)
    (folder / "odd.yaml").write_text("message: Odd\n")

    with pytest.raises(SchemaError, match=r"odd\.yaml"):
        list(command.generated(tmp_path))
