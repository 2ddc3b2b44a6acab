"""What ARCHITECTURE.md and CONTRIBUTING.md say of the code is so: places, rooms, paths."""

from __future__ import annotations

import importlib
import re
import tomllib

from request_path import CREATION, ROW, course
from testkit.checkout import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGES = ROOT / "server" / "doorkeeper"
ROOMS = PACKAGES / "server"
OTHERS = ("doorkeeper_wire", "doorkeeper_pipeline")

DOTTED = re.compile(r"`((?!server\.properties|plugins\.py|pyproject\.toml)[a-z_]+(?:\.\w+)+)`")
FOLDER = re.compile(r"^\| `(\w+)/`", re.MULTILINE)
PATH = re.compile(r"`((?:server|tests|schemas|docs|protocol|scripts|\.ci)/[\w./-]*\w)`")


def section(title: str) -> str:
    """Return the text of a section of ARCHITECTURE.md."""
    _, begin, rest = PAGE.partition(f"\n## {title}\n")
    assert begin
    return rest.partition("\n## ")[0]


def exists(name: str) -> bool:
    """Say whether a dotted name is a module, or a name in one: of a package, or of a room."""
    if name.startswith(("doorkeeper.", *OTHERS)):
        return found(name)
    return any(
        found(f"{parent}.{name}")
        for parent in ("doorkeeper", "doorkeeper.server", "doorkeeper_pipeline")
    )


def found(name: str) -> bool:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            place: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[count:]:
            place = getattr(place, attribute, None)
        return place is not None
    return False


def checked_layers(container: str) -> set[str]:
    """Return the names in the contract of import-linter about a package."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        each
        for each in settings["tool"]["importlinter"]["contracts"]
        if each.get("containers") == [container]
    )
    return {name for layer in contract["layers"] for name in layer.split(" | ")}


def test_places_in_the_code_exist() -> None:
    """Each name with a dot is a module, or stands in one."""
    names = DOTTED.findall(PAGE)

    assert len(names) > 40
    assert [name for name in names if not exists(name)] == []


def test_map_lists_every_package_and_room() -> None:
    packages = {path.parent.name for path in PACKAGES.glob("*/__init__.py")}
    rooms = {path.parent.name for path in ROOMS.glob("*/__init__.py")}
    table = section("Map").partition("| folder |")[0]

    assert set(FOLDER.findall(table)) == packages | rooms
    assert checked_layers("doorkeeper") == packages | {"__main__", "plugins"}
    assert checked_layers("doorkeeper.server") == rooms


def test_no_modules_outside_the_packages() -> None:
    for folder, expected in (
        (PACKAGES, {"__init__", "__main__", "plugins"}),
        (ROOMS, {"__init__"}),
    ):
        assert {path.stem for path in folder.glob("*.py")} == expected


def test_documented_request_path_is_current() -> None:
    """``tools/request_path.py --write`` writes it anew."""
    rows = ROW.findall(section("The path of a CreateAcls request"))

    assert [module for _, module, _ in rows] == list(course(CREATION).modules)


def test_paths_exist() -> None:
    """Files and folders that the pages name are there."""
    text = PAGE + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = set(PATH.findall(text))

    assert len(paths) > 20
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []
