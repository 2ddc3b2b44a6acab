"""Stores by the names that operators give them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.cli.stores import DataFolder, folder, place_of, settings_at
from doorkeeper.server.config.shared_store import SharedStore
from testkit.settings import settings_of

if TYPE_CHECKING:
    from doorkeeper.cli.stores import Place


def place_at(text: str) -> Place:
    return place_of(settings_at(parse_address(text)))


def test_store_addresses(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("doorkeeper.data.dir=/var/lib/doorkeeper\n")

    assert place_at(f"store:{tmp_path}") == folder(tmp_path)
    assert place_at(f"config:{file}") == folder(Path("/var/lib/doorkeeper"))
    url = place_at("postgresql://u:pw@h/d")
    assert isinstance(url, SharedStore)
    assert url.display_name == "postgresql://h/d"
    assert url.password is not None
    file.write_text("node.id=7\ndoorkeeper.store=postgresql://u@h/d\n")
    assert place_at(f"config:{file}") == place_at("postgres://u@h/d")
    assert place_of(settings_of("doorkeeper.data.dir=x")) == folder(Path("x"))
    given = settings_of("doorkeeper.data.dir=x\ndoorkeeper.store.identity.file=y")
    assert place_of(given) == DataFolder(Path("x"), Path("y"))
    assert folder(tmp_path).display_name == str(tmp_path)


@pytest.mark.parametrize("text", ["postgresql://h", "postgresql://u:pw@/d"])
def test_invalid_url_is_reported_without_password(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        place_at(text)

    assert "pw" not in str(caught.value)
