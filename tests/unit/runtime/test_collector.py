"""The collector rests, and wakes as it was."""

from __future__ import annotations

import gc

from doorkeeper.runtime.garbage_collection import collection_paused


def test_it_rests_inside_only() -> None:
    """Inside nothing is collected; after it the collector runs, after an inner one it rests on."""
    assert gc.isenabled()

    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            pass
        assert not gc.isenabled()

    assert gc.isenabled()
