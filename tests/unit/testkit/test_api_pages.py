"""The pages that are made from the registry are current."""

from __future__ import annotations

from testkit import api_pages


def test_the_page_of_the_apis_is_current() -> None:
    """If not: PYTHONPATH=tests python -m testkit.api_pages."""
    assert api_pages.APIS_PAGE.read_text(encoding="utf-8") == api_pages.apis_page()


def test_the_table_of_versions_is_current() -> None:
    """If not: PYTHONPATH=tests python -m testkit.api_pages."""
    text = api_pages.COMPATIBILITY_PAGE.read_text(encoding="utf-8")

    assert api_pages.BEGIN in text
    assert text == api_pages.compatibility_page(text)
