"""What a configuration names, looked at without starting anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.app.checking import check_named
from doorkeeper.app.errors import StartError
from doorkeeper.config.loading import STANDARD_AUTHORIZER
from testkit.settings import settings_of

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_right_passes() -> None:
    """Kafka's authorizer and no catalog are right; super users are the authorizer's affair."""
    check_named(settings_of(f"authorizer.class.name={STANDARD_AUTHORIZER}\nsuper.users=User:a"))
    check_named(settings_of("super.users=a"))


def test_problems_of_both_are_told_together(tmp_path: Path) -> None:
    """An authorizer that is not there does not hide a catalog that is not there."""
    catalog = tmp_path / "catalog.yaml"

    with pytest.raises(StartError) as caught:
        check_named(
            settings_of(f"authorizer.class.name=no.such\ndoorkeeper.catalog.file={catalog}")
        )

    authorizer, missing = caught.value.problems
    assert " line 1: authorizer.class.name=no.such: " in authorizer
    assert missing.startswith(f"{catalog}: ")
