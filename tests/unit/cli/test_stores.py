"""Stores by the names that operators give them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.cli.stores import settings_at
from doorkeeper.server.app.stores import DataFolder, location_of
from doorkeeper.server.config.shared_store import SharedStore
from testkit.settings import settings_of
from testkit.stores import data_folder

if TYPE_CHECKING:
    from doorkeeper.server.app.stores import StoreLocation


def store_at(text: str) -> StoreLocation:
    return location_of(settings_at(parse_address(text)))


def test_store_addresses(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("doorkeeper.data.dir=/var/lib/doorkeeper\n")

    assert store_at(f"store:{tmp_path}") == data_folder(tmp_path)
    assert store_at(f"config:{file}") == data_folder(Path("/var/lib/doorkeeper"))
    url = store_at("postgresql://u:pw@h/d")
    assert isinstance(url, SharedStore)
    assert url.display_name == "postgresql://h/d"
    assert url.password is not None
    file.write_text("node.id=7\ndoorkeeper.store=postgresql://u@h/d\n")
    assert store_at(f"config:{file}") == store_at("postgres://u@h/d")
    assert location_of(settings_of("doorkeeper.data.dir=x")) == data_folder(Path("x"))
    given = settings_of("doorkeeper.data.dir=x\ndoorkeeper.store.identity.file=y")
    assert location_of(given) == DataFolder(Path("x"), Path("y"))
    assert data_folder(tmp_path).display_name == str(tmp_path)


@pytest.mark.parametrize("text", ["postgresql://h", "postgresql://u:pw@/d"])
def test_invalid_url_is_reported_without_password(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        store_at(text)

    assert "pw" not in str(caught.value)
