"""What Python's garbage collector looks at: what is new, twice, and nothing ever again.

Nearly everything is freed as soon as nobody refers to it. The collector is there for cycles, which
come from exceptions and die young; what lives long may leave none, because a cycle with one part
out of sight is never freed (``docs/decisions/0218``). What lives longest is the ACLs, and a
collection that looks through them stops everybody: a third of a second for the million objects of
150,000 new ACLs. So collections are small, and what has survived two of them is taken out of the
collector's sight.
"""

from __future__ import annotations

import gc
from typing import Final

from doorkeeper.collector import retire

THRESHOLDS: Final = (2_000, 4, 100)
"""Of the generations: the first collection looks at 2,000 objects, the second one at 10,000.

A node of a persistent map refers to up to 32 others. While ACLs were created, on a busy machine,
looking at 50,000 new objects took 50 to 100 ms of the processor's time, and at a million 300."""


def keep_collections_short() -> None:
    """Begin, when the server has started: what lives now lives as long as the process.

    During the start nothing is collected: see ``cli.main``.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(*THRESHOLDS)
    gc.callbacks.append(retire)
