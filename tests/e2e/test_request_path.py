"""The modules that a request for ACLs enters, and that ARCHITECTURE.md lists them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from doorkeeper.errors import ErrorCode
from doorkeeper.kinds.declared import KINDS
from testkit.checkout import ROOT
from testkit.frame_steps import LITERAL, TOPIC, create, creation, delete, delete_filter, describe
from testkit.request_path import RecordedServer, RequestPath

SECTION = re.compile(r"^## The path of a CreateAcls request$(.*?)^## ", re.DOTALL | re.MULTILINE)
AUDIT_SECTION = re.compile(r"^## The path of an audit event$(.*?)^## ", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\| \d+ \| `([\w.]+)`", re.MULTILINE)
KINDS_ROW = re.compile(r"^\| kinds: ([^|]*) \|", re.MULTILINE)

# Distinct modules and functions that each request enters, as measured on Python 3.11. Whoever
# follows a request reads all of them: raise a number only with a reason, and name it here.
MODULES_MAX = {
    "CreateAcls": 24,
    "DescribeAcls": 17,
    "DeleteAcls": 25,
    "denied DescribeAcls": 25,
    "audited CreateAcls": 30,
    "audited DeleteAcls": 31,
}
FUNCTIONS_MAX = {
    "CreateAcls": 96,
    "DescribeAcls": 78,
    "DeleteAcls": 100,
    "denied DescribeAcls": 80,
    "audited CreateAcls": 121,
    "audited DeleteAcls": 127,
}

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
    server = RecordedServer(is_audited=True)
    try:
        server.start()
        audited_creation, _ = server.path_of(creations)
        server.path_of(descriptions)
        audited_deletion, _ = server.path_of(deletions)
    finally:
        server.close()
    server = RecordedServer(super_users="User:admin")
    try:
        server.start()
        denied, denials = server.path_of(descriptions)
    finally:
        server.close()
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED.value
    assert [each.error_code for each in denials] == [code] * 4
    return {
        "CreateAcls": created,
        "DescribeAcls": described,
        "DeleteAcls": deleted,
        "denied DescribeAcls": denied,
        "audited CreateAcls": audited_creation,
        "audited DeleteAcls": audited_deletion,
    }


def section() -> str:
    """Return the section of ARCHITECTURE.md about the path."""
    found = SECTION.search((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def written(module: str) -> str:
    """Return a module as the page names it: those of the server without their package."""
    return module.removeprefix("doorkeeper.")


def test_the_page_lists_the_path_of_create_acls(paths: dict[str, RequestPath]) -> None:
    """The table has a row for each module that CreateAcls enters, in this order."""
    rows = ROW.findall(section())

    assert rows == [written(module) for module in paths["CreateAcls"].modules]


def test_the_page_says_which_rows_a_description_omits(paths: dict[str, RequestPath]) -> None:
    """DescribeAcls enters none of rows 14 to 18 and 20 to 24; row 18 decides on other users."""
    rows = ROW.findall(section())
    of_changes = {*rows[13:18], *rows[19:24]}
    described = set(map(written, paths["DescribeAcls"].modules))
    denied = set(map(written, paths["denied DescribeAcls"].modules))

    assert described & of_changes == set()
    assert denied & of_changes == {rows[17]} == {"acl.snapshot"}


def test_the_page_lists_the_kinds_of_state() -> None:
    """The table of the state has every kind."""
    row = KINDS_ROW.search((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))

    assert row is not None
    assert row[1] == ", ".join(f"`{name}`" for name in sorted(KINDS))


@pytest.mark.parametrize("api", ["DescribeAcls", "DeleteAcls", "denied DescribeAcls"])
def test_the_page_names_the_modules_of_other_apis(api: str, paths: dict[str, RequestPath]) -> None:
    """The section names the modules that these enter beside the path of CreateAcls."""
    text = section()

    assert [name for name in map(written, paths[api].modules) if f"`{name}`" not in text] == []


@pytest.mark.parametrize("api", ["CreateAcls", "DeleteAcls"])
def test_the_page_names_the_modules_of_the_audit_log(
    api: str, paths: dict[str, RequestPath]
) -> None:
    """The section about events names what an audited request enters besides."""
    found = AUDIT_SECTION.search((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert found is not None
    entered = map(written, paths[f"audited {api}"].modules)
    others = {name for name in entered if name not in map(written, paths[api].modules)}

    assert {name for name in others if f"`{name}`" not in found[1]} == set()
    assert others == {
        f"audit.{name}"
        for name in ("audit_log", "event_builder", "lines", "merging", "queue", "writer")
    }


@pytest.mark.parametrize("api", MODULES_MAX)
def test_paths_do_not_grow(api: str, paths: dict[str, RequestPath]) -> None:
    """A request enters no more modules and functions than when they were counted last."""
    path = paths[api]

    assert len(path.modules) <= MODULES_MAX[api], path.modules
    assert len(path.functions) <= FUNCTIONS_MAX[api], path.functions
