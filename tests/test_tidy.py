"""What is true of every file here: sizes, headers, places, claims. STYLE.md gives the reasons."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from typing import TYPE_CHECKING

from testkit.checkout import (
    COMPONENT_ROOTS,
    ROOT,
    files_of_tests,
    functions,
    is_generated,
    modules,
    name_of,
    tracked_files,
)

if TYPE_CHECKING:
    from pathlib import Path

FUNCTION_LINES_MAX = 60

# A line of a docstring that begins with a module and its contents, and any name.
LISTED = re.compile(r"^(\w+)  +\S", re.MULTILINE)
WORD = re.compile(r"\w+")

CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
ASKED_CLOCK = re.compile(rf"\b(?:{'|'.join(CLOCKS)})\s*\(")

# Joined here, so that this file does not hold what it looks for.
UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b")
HOSTS = (
    "py" + "pi.org",
    "python" + "hosted.org",
    "npm" + "js.org",
    "repo1." + "maven.org",
    "repo." + "maven.apache.org",
    "deb." + "debian.org",
    "crates" + ".io",
    "proxy." + "golang.org",
)
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:wo" + r"rk|ro" + r"ot|ho" + r"me/\w+)/")
# Texts of others, kept as they are.
FOREIGN_TEXTS = {"LICENSE"}


def written_by_hand() -> list[Path]:
    return [path for path in modules() if not is_generated(path)]


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines from ``def`` to the end, the docstring left out."""
    assert function.end_lineno is not None
    count = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        assert first.end_lineno is not None
        count -= first.end_lineno - first.lineno + 1
    return count


@cache
def texts() -> list[tuple[str, str]]:
    """Return name and text of each tracked file that is text."""
    found = []
    for path in tracked_files():
        data = path.read_bytes()
        if b"\0" not in data[:8000] and name_of(path) not in FOREIGN_TEXTS:
            found.append((name_of(path), data.decode("utf-8")))
    return found


def test_functions_have_at_most_60_lines() -> None:
    """A function written by hand has at most 60 lines, its docstring not counted."""
    long = {
        f"{name_of(path)}:{function.lineno} {function.name}": lines_of(function)
        for path in [*written_by_hand(), *files_of_tests()]
        for function in functions(path)
        if lines_of(function) > FUNCTION_LINES_MAX
    }

    assert long == {}


def test_generated_files_have_a_header() -> None:
    modules = list((ROOT / "protocol" / "doorkeeper_wire" / "messages").glob("[!_]*.py"))
    unmarked = [
        name_of(path)
        for path in modules
        if not is_generated(path) or f"schemas/messages/{path.stem}.yaml" not in first_line(path)
    ]

    assert modules
    assert unmarked == []


def first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0]


def test_top_folders_are_not_packages() -> None:
    top = [folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name[0] != "."]
    wrong = [name_of(folder) for folder in top if (folder / "__init__.py").exists()]
    wrong += [name_of(path) for path in files_of_tests() if path.name == "__init__.py"]

    assert wrong == []


def test_component_roots_hold_one_package() -> None:
    """Each component root holds exactly one import package, named for the project."""
    for root in COMPONENT_ROOTS:
        packages = [found.parent.name for found in (ROOT / root).glob("*/__init__.py")]
        assert len(packages) == (1 if (ROOT / root).exists() else 0), root
        assert all(name.startswith("doorkeeper") for name in packages)


def test_packages_ship_their_types() -> None:
    """Each package that is installed carries py.typed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert [name for name in packages if not (ROOT / name / "py.typed").exists()] == []


def test_each_package_has_its_tests() -> None:
    """For each package with modules written by hand there are tests in tests/unit/<package>/."""
    packages = {
        path.parent.relative_to(ROOT / "server" / "doorkeeper")
        for path in written_by_hand()
        if path.is_relative_to(ROOT / "server" / "doorkeeper") and path.name != "__init__.py"
    }
    folders = {path: ROOT / "tests" / "unit" / path for path in packages if path.parts}

    assert [str(path) for path in sorted(folders) if not any(folders[path].glob("test_*.py"))] == []


def test_lists_of_modules_are_complete() -> None:
    """A package that lists modules in its docstring names all of them there."""
    incomplete = {}
    for path in modules():
        if path.name != "__init__.py":
            continue
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if text is None:
            continue
        names = {found.parent.name for found in path.parent.glob("*/__init__.py")}
        names |= {found.stem for found in path.parent.glob("*.py")} - {"__init__"}
        # Fewer lines may be an example.
        if len(names.intersection(LISTED.findall(text))) >= 3:
            missing = names.difference(WORD.findall(text))
            if missing:
                incomplete[name_of(path)] = sorted(missing)

    assert incomplete == {}


def is_elapsed(node: ast.AST) -> bool:
    """Say whether an expression is a clock's time now less another time."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.left, ast.Call)
        and ast.unparse(node.left.func).rpartition(".")[2] in CLOCKS
    )


def timed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[int]:
    """Return the lines that assert that some time is less than a bound."""
    nodes = list(ast.walk(function))
    names = {
        ast.unparse(target)
        for node in nodes
        if isinstance(node, ast.Assign) and is_elapsed(node.value)
        for target in node.targets
    }
    return [
        claim.lineno
        for claim in nodes
        if isinstance(claim, ast.Assert) and isinstance(claim.test, ast.Compare)
        for less, relation in zip(
            [claim.test.left, *claim.test.comparators], claim.test.ops, strict=False
        )
        if isinstance(relation, ast.Lt | ast.LtE)
        and (is_elapsed(less) or ast.unparse(less) in names)
    ]


def test_tests_assert_no_durations() -> None:
    found = [
        f"{name_of(path)}:{line}"
        for path in files_of_tests()
        if ASKED_CLOCK.search(path.read_text(encoding="utf-8"))
        for function in functions(path)
        for line in timed(function)
    ]

    assert found == []


def test_no_unfinished_marks() -> None:
    marked = [
        f"{name}: {found.group()}"
        for name, text in texts()
        if (found := UNFINISHED.search(text)) is not None
    ]

    assert marked == []


def test_no_file_names_a_registry() -> None:
    """Where packages come from is the affair of the machine: no tracked file names a host."""
    naming = [f"{name}: {host}" for name, text in texts() for host in HOSTS if host in text]

    assert naming == []


def test_no_file_has_absolute_local_paths() -> None:
    naming = [
        f"{name}: {found.group()}"
        for name, text in texts()
        if (found := MACHINE_PATHS.search(text)) is not None
    ]

    assert naming == []


def test_runtime_requirements_match_the_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = project["dependencies"] + extras["postgres"] + extras["console"]
    declared = {name.replace("'", '"') for name in names}
    lines = (ROOT / "requirements" / "run.in").read_text(encoding="utf-8").splitlines()

    assert declared == {line.partition("#")[0].strip() for line in lines if line.strip()}


def test_npm_locks_have_no_addresses() -> None:
    """Neither a registry nor a sponsor: of a new lock the entries ``funding`` are removed."""
    folders = (ROOT / "tools", ROOT / "tests" / "interop" / "clients")
    locks = [each for folder in folders for each in folder.glob("*/**/package-lock.json")]
    locks = [each for each in locks if "node_modules" not in each.parts]
    found = [str(each) for each in locks if "://" in each.read_text(encoding="utf-8")]

    assert len(locks) >= 3
    assert found == []


def test_locks_have_only_pins_and_hashes() -> None:
    allowed = re.compile(r"#|\s*$|\s+--hash=sha256:[0-9a-f]{64}|[\w.-]+==\S+ .*\\$|\s+#")
    locks = sorted((ROOT / "requirements").glob("*.txt"))
    odd = [
        f"{lock.name}: {line}"
        for lock in locks
        for line in lock.read_text(encoding="utf-8").splitlines()
        if not allowed.match(line)
    ]

    assert len(locks) == len(list((ROOT / "requirements").glob("*.in")))
    assert odd == []
