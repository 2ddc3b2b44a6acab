"""The evidence that docs/reference/compatibility.md names is there."""

from __future__ import annotations

import re

from testkit.checkout import ROOT

TEXT = (ROOT / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")


def test_the_tests_it_names_exist() -> None:
    """Each test of its tables is one of the module that it names."""
    section = TEXT.partition("## Where documents and code differ")[2]
    module = ROOT / "tests" / "interop" / "test_documents_and_code.py"
    defined = set(re.findall(r"^def (test_\w+)", module.read_text(encoding="utf-8"), re.MULTILINE))

    assert set(re.findall(r"`(test_\w+)`", section)) == defined


def test_the_files_it_names_exist() -> None:
    """A module of tests that it names has not moved."""
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", TEXT))

    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
