"""What ARCHITECTURE.md and CONTRIBUTING.md say of the code is so: places, layers, map, paths."""

from __future__ import annotations

import importlib
import re
import tomllib
from typing import Any

from testkit.checkout import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SERVER = ROOT / "server" / "doorkeeper"

DOTTED = re.compile(r"`((?!transaction\.|connection\.execute)[a-z_]+(?:\.\w+)+)`")
PACKAGE = re.compile(r"`(\w+)/`")
PATH = re.compile(r"`((?:server|tests|schemas|docs|protocol|scripts|\.ci)/[\w./-]*\w)`")


def section(title: str) -> str:
    """Return the text of a section of ARCHITECTURE.md."""
    _, begin, rest = PAGE.partition(f"\n## {title}\n")
    assert begin
    return rest.partition("\n## ")[0]


def exists(name: str) -> bool:
    """Say whether a dotted name is a module of the server, or a name in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        path = SERVER.joinpath(*parts[:count])
        if path.is_dir() or path.with_suffix(".py").exists():
            place: object = importlib.import_module(".".join(["doorkeeper", *parts[:count]]))
            for attribute in parts[count:]:
                place = getattr(place, attribute, None)
            return place is not None
    return False


def contract(beginning: str) -> dict[str, Any]:
    """Return a contract of import-linter."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    (found,) = (each for each in contracts if each["name"].startswith(beginning))
    return found


def drawn_layers() -> list[set[str]]:
    """Return the layers as the page draws them, from the top; a name may end with a star."""
    _, drawing, _ = section("Layers").split("```")
    rows = (line.split(maxsplit=1)[1] for line in drawing.strip().splitlines())
    return [set(re.split(r"[ |]+", layer.strip())) for row in rows for layer in row.split(">")]


def test_places_in_the_code_exist() -> None:
    """Each name with a dot in the table of places is a module of the server, or stands in one."""
    names = DOTTED.findall(section("Where is it?"))

    assert len(names) > 20
    assert [name for name in names if not exists(name)] == []


def test_the_layers_are_those_that_are_checked() -> None:
    """The drawing puts every package where the contract of imports has it."""
    height = {
        name.rstrip("*"): number for number, layer in enumerate(drawn_layers()) for name in layer
    }
    checked = {
        name: number
        for number, layer in enumerate(contract("Imports in the server")["layers"])
        for name in layer.split(" | ")
    }

    assert height.keys() == checked.keys()
    wrong = [
        (above, below)
        for above in checked
        for below in checked
        if checked[above] < checked[below] and height[above] >= height[below]
    ]
    assert wrong == []


def test_packages_with_a_star_are_those_of_the_contract() -> None:
    """They use no sockets, threads, clocks, random numbers or files."""
    starred = {name[:-1] for layer in drawn_layers() for name in layer if name.endswith("*")}
    checked = {name.removeprefix("doorkeeper.") for name in contract("The core")["source_modules"]}

    assert checked - starred == {"doorkeeper_wire", "runtime.slices"}
    assert starred - checked == set()


def test_the_map_has_every_package() -> None:
    """And no package that is gone."""
    packages = {path.parent.name for path in SERVER.glob("*/__init__.py")}
    table = section("Map").partition("| folder |")[0]

    assert set(PACKAGE.findall(table)) == packages


def test_few_modules_lie_beside_the_packages() -> None:
    """What belongs to a subject stands in its package."""
    names = {path.stem for path in SERVER.glob("*.py")} - {"__init__", "__main__"}

    assert len(names) <= 8


def test_paths_exist() -> None:
    """Files and folders that the pages name are there."""
    text = PAGE + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = set(PATH.findall(text))

    assert len(paths) > 30
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []
