"""Settings from the text of a server.properties."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.server.config.loading import Loaded, load

if TYPE_CHECKING:
    from doorkeeper.server.config.settings import Settings


def loaded_from(text: str, *overrides: str) -> Loaded:
    """Load a file of this text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "server.properties"
        file.write_text(text, encoding="latin-1")
        return load(file, overrides)


def settings_of(text: str, *overrides: str) -> Settings:
    """Return the settings of a file of this text."""
    return loaded_from(text, *overrides).settings


def problems_of(text: str, *overrides: str) -> list[str]:
    """Return the problems of a file of this text; none where it is right."""
    try:
        loaded_from(text, *overrides)
    except ConfigError as error:
        return [str(problem) for problem in error.problems]
    return []


def warnings_from(text: str, *overrides: str) -> list[str]:
    """Return the warnings of a file of this text, without those of a missing authorizer."""
    from doorkeeper.server.app.config_check import warnings_of

    found = warnings_of(loaded_from(text, *overrides).source)
    return [warning for warning in found if "C511" not in warning]
