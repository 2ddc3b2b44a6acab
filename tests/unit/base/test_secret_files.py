"""Files with secrets."""

from __future__ import annotations

from pathlib import Path

from doorkeeper.base.secret_files import is_open_to_others


def test_files_of_others_are_open_but_in_a_container(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("x")
    file.chmod(0o644)
    assert is_open_to_others(file)
    file.chmod(0o600)
    assert not is_open_to_others(file)

    assert not is_open_to_others(Path("/run/secrets/ops.token"))
