"""Cluster ids that are given."""

from __future__ import annotations

import pytest

from doorkeeper.server.state.storage.cluster_id import check_form
from doorkeeper.server.state.store import StorageError


@pytest.mark.parametrize("given", ["MkU3OEVBNTcwNTJENDM2Qg", "-_-_-_-_-_-_-_-_-_-_-_"])
def test_kafkas_form_is_accepted(given: str) -> None:
    """22 characters of URL-safe base64 are a cluster id, whoever made them."""
    check_form(given)


@pytest.mark.parametrize(
    "given", ["", "short", "MkU3OEVBNTcwNTJENDM2Qg==", "MkU3OEVBNTcwNTJENDM2Q+", "a" * 22 + "\n"]
)
def test_another_form_is_refused(given: str) -> None:
    """The error shows what was given and says what a cluster id looks like."""
    with pytest.raises(StorageError) as raised:
        check_form(given)

    assert repr(given) in str(raised.value)
    assert "22 characters" in str(raised.value)
