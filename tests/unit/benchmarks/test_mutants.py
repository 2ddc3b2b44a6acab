"""The sample of mutants, and how its places follow the code."""

from __future__ import annotations

import json
from typing import Any

import mutants
from testkit.checkout import ROOT

BEFORE = "    return a or b"
MUTANT: dict[str, Any] = {
    "path": "server/one.py",
    "function": "either",
    "line": 2,
    "before": BEFORE,
    "after": "    return a and b",
}
EITHER = f"def either(a, b):\n{BEFORE}\n"
OTHER = f"def other(a, b):\n    a = 1\n{BEFORE}\n"


def test_all_mutant_locations_exist() -> None:
    sample = json.loads(mutants.RESULTS.read_text(encoding="utf-8"))["mutants"]
    missing = {each["path"] for each in sample if not (ROOT / each["path"]).is_file()}

    assert missing == set(), "run: .venv/bin/python benchmarks/mutants.py place"


def test_mutant_is_located_by_its_lines() -> None:
    def found(**sources: str) -> tuple[str, str, int] | None:
        texts = {f"server/{name}.py": text for name, text in sources.items()}
        place = mutants.found_again(MUTANT, texts)
        return place and (place.path, place.function, place.line)

    assert found(one=EITHER, two=EITHER) == ("server/one.py", "either", 2)
    assert found(one=OTHER, two=EITHER) == ("server/two.py", "either", 2)
    assert found(two=OTHER) == ("server/two.py", "other", 3)
    assert found(two=OTHER, three=OTHER) is None
    assert found(two="") is None
