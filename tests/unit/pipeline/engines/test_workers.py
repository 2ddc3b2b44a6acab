"""What a worker of Spark does between its tasks."""

from __future__ import annotations

import importlib
import sys
import zipfile
from typing import TYPE_CHECKING
from zipimport import zipimporter

from doorkeeper_pipeline.engines.spark import forget_archives

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def finders() -> list[str]:
    """Return the places of which Python keeps a finder of an archive."""
    return [
        path for path, found in sys.path_importer_cache.items() if isinstance(found, zipimporter)
    ]


def test_archives_are_forgotten_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "sent.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("sent_package/__init__.py", "")
        file.writestr("sent_package/first.py", "")
        file.writestr("sent_package/second.py", "")
    monkeypatch.syspath_prepend(archive)
    importlib.import_module("sent_package.first")
    assert finders()

    forget_archives()

    assert not finders()
    importlib.invalidate_caches()
    importlib.import_module("sent_package.second")
