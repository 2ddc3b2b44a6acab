"""Texts of forms as files for commands: none outlives its request, and none is judged in part."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from testkit.consoles import HEAD

CONFIG = "listeners=PLAINTEXT://:9092\nssl.keystore.password=secret\n"
FORMS = {
    "broker": {"file": CONFIG},
    "whoami": {"credential": "token", "text": "e30.e30.", "config": CONFIG},
    "review": {"file": f"{HEAD}User:a,Topic,LITERAL,new,Read,Allow,*\n"},
    "learn": {"log": "[2026-11-01 10:00:00,000] nothing of an authorizer"},
}
PAGES = list(FORMS)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def full_disk(bytes_max: int = 4096) -> Iterator[None]:
    """Let no file grow beyond some bytes: the first of them are written, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("page", PAGES)
def test_no_file_outlives_its_request(
    console: TestClient, temporary: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of a page nor of its JSON or Markdown; before, only this user reads it."""
    modes: list[int] = []
    write = Path.write_bytes

    def noted(path: Path, data: bytes) -> int:
        modes.append(path.parent.stat().st_mode & 0o777)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", noted)
    console.post(f"/{page}", data=FORMS[page])
    for suffix in ("", ".json", ".md"):
        console.get(f"/{page}{suffix}", params=FORMS[page])

    assert set(modes) == {0o700}
    assert len(modes) >= 4
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_full_disk_is_a_message(console: TestClient, temporary: Path, page: str) -> None:
    """The part that was written is not judged, and the same form is answered later."""
    long = {name: f"{'# long' * 2000}\n{text}" for name, text in FORMS[page].items()}
    form = long | ({"credential": "token"} if page == "whoami" else {})

    with full_disk():
        during = console.post(f"/{page}", data=form)
        left = list(temporary.iterdir())
    after = console.post(f"/{page}", data=form)

    assert during.status_code == 500
    assert "there is no answer: [Errno 27] File too large" in during.text
    assert left == []
    assert after.status_code == 200
    assert "there is no answer" not in after.text


def test_a_missing_folder_of_temporary_files_is_a_message(
    console: TestClient, temporary: Path
) -> None:
    """In the answers for programs, too."""
    temporary.rmdir()
    answer = console.get("/broker.json", params=FORMS["broker"])

    assert answer.status_code == 500
    assert answer.text.startswith("there is no answer: [Errno 2] No such file or directory")
