"""How far a request for ACLs goes through the server, and that ARCHITECTURE.md says so."""

from __future__ import annotations

import re
from typing import Any

import pytest

from testkit.checkout import ROOT
from testkit.frame_steps import LITERAL, TOPIC, create, creation, delete, delete_filter, describe
from testkit.request_path import RecordedServer, RequestPath

SECTION = re.compile(r"^## The path of a CreateAcls request$(.*?)^## ", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\| \d+ \| `([\w.]+)`", re.MULTILINE)

# Distinct modules and functions that each request enters, as measured on Python 3.11. Whoever
# follows a request reads all of them: raise a number only with a reason, and name it here.
MODULES_MAX = {"CreateAcls": 24, "DescribeAcls": 18, "DeleteAcls": 26}
FUNCTIONS_MAX = {"CreateAcls": 100, "DescribeAcls": 82, "DeleteAcls": 108}

NAMES = [f"orders-{number}" for number in range(4)]


@pytest.fixture(scope="module")
def paths() -> dict[str, RequestPath]:
    """Record the second request of each kind, and later ones, on one server."""
    named: dict[str, Any] = {"resource_type_filter": TOPIC, "pattern_type_filter": LITERAL}
    creations = [create(creation(resource_name=name), version=1) for name in NAMES]
    descriptions = [describe(1, resource_name_filter=name, **named) for name in NAMES]
    deletions = [
        delete(delete_filter(resource_name_filter=name, **named), version=1) for name in NAMES
    ]
    server = RecordedServer()
    try:
        server.start()
        created, creation_answers = server.path_of(creations)
        described, description_answers = server.path_of(descriptions)
        deleted, deletion_answers = server.path_of(deletions)
    finally:
        server.close()
    assert [row.error_code for each in creation_answers for row in each.results] == [0] * 4
    assert [len(each.resources) for each in description_answers] == [1] * 4
    assert [
        len(found.matching_acls) for each in deletion_answers for found in each.filter_results
    ] == [1] * 4
    return {"CreateAcls": created, "DescribeAcls": described, "DeleteAcls": deleted}


def section() -> str:
    """Return the section of ARCHITECTURE.md about the path."""
    found = SECTION.search((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def written(module: str) -> str:
    """Return a module as the page names it: those of the server without their package."""
    return module.removeprefix("doorkeeper.")


def test_the_page_lists_the_path_of_create_acls(paths: dict[str, RequestPath]) -> None:
    """The table has a row for each module that CreateAcls enters, and for no other."""
    rows = ROW.findall(section())

    assert sorted(rows) == sorted(map(written, paths["CreateAcls"].modules))


@pytest.mark.parametrize("api", ["DescribeAcls", "DeleteAcls"])
def test_the_page_names_the_modules_of_other_apis(api: str, paths: dict[str, RequestPath]) -> None:
    """What these enter beside the path of CreateAcls is named in the same section."""
    text = section()

    assert [name for name in map(written, paths[api].modules) if f"`{name}`" not in text] == []


@pytest.mark.parametrize("api", MODULES_MAX)
def test_paths_do_not_grow(api: str, paths: dict[str, RequestPath]) -> None:
    """A request enters no more modules and functions than when they were counted last."""
    path = paths[api]

    assert len(path.modules) <= MODULES_MAX[api], path.modules
    assert len(path.functions) <= FUNCTIONS_MAX[api], path.functions
