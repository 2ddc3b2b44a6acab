"""The entries of one principal on one pattern: a mask for each host.

Nearly all ACLs are for all hosts, so a cell is a plain mask (``int``) while only the host ``*``
occurs, and a persistent map from host to mask otherwise. An empty cell is 0. Each entry is one bit,
so removing an entry clears a bit, and nothing has to be recomputed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from immutables import Map

from doorkeeper.acls.model import WILDCARD

Cell = int | Map[str, int]
"""A mask for the host ``*``, or a mask for each host. Masks in a map are never 0."""


def mask_for(cell: Cell, hosts: Collection[str]) -> int:
    """Return the mask for a client that matches these hosts, ``*`` among them."""
    if isinstance(cell, int):
        return cell
    mask = 0
    # Visit the smaller side: a client in many networks matches many hosts, and a popular principal
    # has ACLs for many.
    if len(hosts) <= len(cell):
        for host in hosts:
            mask |= cell.get(host, 0)
    else:
        for host, held in cell.items():
            if host in hosts:
                mask |= held
    return mask


def mask_at(cell: Cell, host: str) -> int:
    """Return the mask of one host of ACLs; 0 where the cell does not name it."""
    if isinstance(cell, int):
        return cell if host == WILDCARD else 0
    return cell.get(host, 0)


def masks(cell: Cell) -> Iterable[tuple[str, int]]:
    """Return (host, mask) pairs."""
    if isinstance(cell, int):
        return ((WILDCARD, cell),) if cell else ()
    return cell.items()


def with_bit(cell: Cell, host: str, bit: int) -> Cell:
    """Return the cell with one more entry."""
    if isinstance(cell, int):
        if host == WILDCARD:
            return cell | bit
        # Masks in a map are never 0, which ``masks`` and ``lint`` rely on.
        return Map({WILDCARD: cell, host: bit}) if cell else Map({host: bit})
    return cell.set(host, cell.get(host, 0) | bit)


def without_bit(cell: Cell, host: str, bit: int) -> Cell:
    """Return the cell without a present entry; 0 without the last one."""
    if isinstance(cell, int):
        return cell & ~bit
    rest = cell[host] & ~bit
    remaining = cell.set(host, rest) if rest else cell.delete(host)
    if not remaining:
        return 0
    # Back to the plain form, which is smaller and faster.
    if len(remaining) == 1 and WILDCARD in remaining:
        return remaining[WILDCARD]
    return remaining
