"""The measures of a labelled cluster, drawn from a seed: its history, its logs and their faults."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

FAULTS = (
    "a broker missing",
    "files missing",
    "lines dropped",
    "refusals only",
    "no dates",
    "another cluster",
    "too short",
    "super users missing",
)
"""Faults of a collection after which nothing may be removed."""

_FAULTY_SHARE = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarter:
    """A history of a quarter or some more days.

    Attributes:
        seed: The same seed gives the same cluster.
        days: The length of the history.
        brokers: How many brokers log.
        era: The form of the lines, see ``lines``.
        envelopes: What stands around the lines of each broker, see ``collecting``.
        files: The files of each broker.
        numbered: Whether their names end with numbers, and not with dates.
        compressed: The suffix of all files but the newest: "", ".gz" or ".zst".
        listing_days: The days from one listing to the next.
        listing_form: The form of the listings, a value of ``doorkeeper.acls.formats.Format``.
        outages: How often the log of a broker lacks some hours.
        allow_everyone: Whether ``allow.everyone.if.no.acl.found`` is set.
        fault: One of ``FAULTS``, or empty where the collection is sound.

    """

    seed: int
    days: int = 100
    brokers: int = 3
    era: str = "E"
    envelopes: tuple[str, ...] = ("",)
    files: int = 5
    numbered: bool = False
    compressed: str = ".gz"
    listing_days: int = 7
    listing_form: str = "csv"
    outages: int = 2
    allow_everyone: bool = False
    fault: str = ""


def quarter_of(seed: int) -> Quarter:
    """Return the measures that a seed stands for; of ten seeds seven have a sound collection."""
    rng = random.Random(seed)
    brokers = rng.randint(1, 4)
    found = Quarter(
        seed=seed,
        days=rng.randint(94, 125),
        brokers=brokers,
        era=rng.choice("BCDEEE"),
        envelopes=tuple(rng.choice(ENVELOPE_NAMES) for _ in range(brokers)),
        files=rng.randint(1, 7),
        numbered=rng.random() < 0.4,
        compressed=rng.choice(("", ".gz", ".zst")),
        listing_days=rng.choice((3, 7, 14, 30)),
        listing_form=rng.choice(("csv", "kafka", "yaml")),
        outages=rng.randint(0, 5),
        allow_everyone=rng.random() < 0.15,
    )
    if rng.random() >= _FAULTY_SHARE:
        return found
    return _with_fault(found, rng)


def _with_fault(quarter: Quarter, rng: random.Random) -> Quarter:
    found = replace(quarter, fault=rng.choice(FAULTS))
    match found.fault:
        case "a broker missing" | "files missing":
            # Where a line does not name the request, two brokers look like one that asks itself.
            brokers = max(3 if found.era == "B" else 2, found.brokers)
            return replace(found, brokers=brokers, envelopes=(*found.envelopes, "", "")[:brokers])
        case "too short":
            return replace(found, days=rng.randint(20, 34))
        case "lines dropped" | "super users missing":
            # Older lines name neither the request nor the rule, which show it.
            return replace(found, era=rng.choice("DE"))
        case _:
            return found


ENVELOPE_NAMES = ("", "", "kubectl", "compose", "docker", "cri", "filebeat", "gelf", "grep")
