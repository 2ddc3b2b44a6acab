"""Do the tests notice faults in the code that decides, stores and answers?

    make coverage                                        # which test reaches which line
    python benchmarks/mutants.py sample --seed 1         # choose mutants, once
    python benchmarks/mutants.py run                     # try them all
    python benchmarks/mutants.py run --killed            # those that a test noticed, with that test
    python benchmarks/mutants.py place                   # after code has moved: where they are now

A mutant is one changed place of a function; Cosmic Ray's operators make it. ``mutants.json`` names
each by its subject, its function and its lines before and after, not by file and line number, so
that it is found again after code has moved. A mutant whose lines are gone is reported as gone, and
left out by ``place``.

Each mutant runs in a worktree of its own, with the tests that reach its line, the quickest first.
``--killed`` needs no coverage: it tries the test that noticed the mutant last time, then the file
of that test, then the folder of the module's unit tests. Nothing is written to the checkout but
``mutants.json``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "mutants.json"
COVERAGE = ROOT / ".cache" / "coverage"
ROOTS = ("server", "protocol", "schemas", "pipeline", "broker")

SUBJECTS = {
    "acl": "server/doorkeeper/acls",
    "authorizer": "server/doorkeeper/server/authorizer",
    "state": "server/doorkeeper/server/state",
    "storage": "server/doorkeeper/server/state/storage",
    "connection": "server/doorkeeper/server/net/protocol",
}
"""What is changed: the code that decides, stores and answers."""

TESTS_S = 40.0
TESTS_MAX = 120
MUTANT_S = 120.0
NOT_FOUND = 4
"""What pytest ends with where it does not know a test that is named."""


class Place(NamedTuple):
    """Lines of a module, and what they become."""

    path: str
    function: str
    line: int
    before: str
    after: str


# --- choosing mutants ---


def functions_of(tree: ast.Module) -> dict[tuple[int, int], str]:
    """Return the qualified name of each function by its first and last line."""
    found = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{prefix}.{child.name}".lstrip(".")
                if not isinstance(child, ast.ClassDef):
                    found[child.lineno, child.end_lineno or child.lineno] = name
            visit(child, name)

    visit(tree, "")
    return found


def function_at(functions: dict[tuple[int, int], str], line: int) -> str | None:
    """Return the innermost function of a line."""
    around = [span for span in functions if span[0] < line <= span[1]]
    return functions[max(around)] if around else None


def inert_lines(tree: ast.Module) -> set[int]:
    """Return the lines of annotations, signatures and asserts, whose mutants say nothing."""
    found: set[int] = set()
    for node in ast.walk(tree):
        inert: list[ast.AST | None] = []
        if isinstance(node, ast.AnnAssign):
            inert = [node.annotation]
        elif isinstance(node, ast.Assert):
            inert = [node]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.update(range(node.lineno, node.body[0].lineno))
        for each in inert:
            if each is not None:
                found.update(range(each.lineno, (each.end_lineno or each.lineno) + 1))  # type: ignore[attr-defined]
    return found


class Change(NamedTuple):
    """One application of an operator of Cosmic Ray to a module."""

    function: str
    line: int
    operator: str
    occurrence: int


def changes_of(source: str, reached: set[int]) -> dict[int, list[Change]]:
    """Return the possible changes of each position whose line a test reaches."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    tree = ast.parse(source)
    functions, inert = functions_of(tree), inert_lines(tree)
    nodes = list(ast_nodes(get_ast(source)))
    changes = defaultdict(list)
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments():
            continue
        positions = [at for node in nodes for at in operator().mutation_positions(node)]
        for occurrence, ((line, column), _) in enumerate(positions):
            function = function_at(functions, line)
            if function is not None and line not in inert and line in reached:
                changes[line * 1000 + column].append(Change(function, line, name, occurrence))
    return changes


def place_of(path: str, source: str, change: Change) -> Place | None:
    """Return the lines that a change replaces; None where it changes nothing."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    try:
        mutated = mutate_code(source, get_operator(change.operator)(), change.occurrence)
    except AttributeError:  # its ExceptionReplacer cannot change a dotted name
        return None
    if mutated is None or mutated == source:
        return None
    before, after = source.splitlines(), mutated.splitlines()
    pairs = list(zip(before, after, strict=False))
    first = next(index for index, (old, new) in enumerate(pairs) if old != new)
    backwards = zip(reversed(before), reversed(after), strict=False)
    same = next(index for index, (old, new) in enumerate(backwards) if old != new)
    return Place(
        path,
        change.function,
        first + 1,
        "\n".join(before[first : max(len(before) - same, first + 1)]),
        "\n".join(after[first : max(len(after) - same, first + 1)]),
    )


def choose(mutants: int, seed: int) -> list[dict[str, Any]]:
    """Return a random sample of each subject: positions first, then one change of each."""
    reached = Reached()
    chosen = []
    for subject, folder in SUBJECTS.items():
        sources = {}
        changes = {}
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            sources[name] = path.read_text(encoding="utf-8")
            for position, found in changes_of(sources[name], reached.lines(name)).items():
                changes[name, position] = found
        dice = random.Random(f"{seed} {subject}")
        count = 0
        for path_name, position in dice.sample(sorted(changes), len(changes)):
            if count == mutants:
                break
            change = dice.choice(changes[path_name, position])
            place = place_of(path_name, sources[path_name], change)
            if place is not None:
                count += 1
                chosen.append({"subject": subject, **place._asdict()})
    order = list(SUBJECTS)

    def in_order(mutant: dict[str, Any]) -> tuple[int, str, int]:
        return order.index(mutant["subject"]), mutant["path"], mutant["line"]

    return sorted(chosen, key=in_order)


# --- which tests reach a line ---


class Reached:
    """The record of a run with ``--cov-context=test`` and ``--junitxml``."""

    def __init__(self, folder: Path = COVERAGE) -> None:
        self._seconds = dict(json.loads((folder / "seconds.json").read_text(encoding="utf-8")))
        self._tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        with closing(sqlite3.connect(folder / "data")) as data:
            rows = data.execute(
                "select path, context, fromno, tono from arc"
                " join file on file.id = file_id join context on context.id = context_id"
            )
            for path, context, *lines in rows:
                name = context.partition("|")[0]
                folders = [each for each in SUBJECTS.values() if f"/{each}/" in path]
                if name and folders:
                    found = self._tests[path[path.index(f"/{folders[0]}/") + 1 :]]
                    for line in lines:
                        if line > 0:
                            found[line].add(name)

    def lines(self, path: str) -> set[int]:
        """Return the lines of a file that a test reaches."""
        return set(self._tests[path])

    def tests(self, path: str, line: int) -> list[str]:
        """Return tests of a line: those of its package first, then the quickest ones."""
        total_s = 0.0
        chosen: list[str] = []
        package = f"/{Path(path).parts[2]}/"

        def order(name: str) -> tuple[bool, float, str]:
            return package not in name, self._seconds.get(name, 0.0), name

        for name in sorted(self._tests[path][line], key=order):
            total_s += self._seconds.get(name, 0.0)
            if chosen and (total_s > TESTS_S or len(chosen) >= TESTS_MAX):
                break
            chosen.append(name)
        return chosen


TestsOf = Callable[[dict[str, Any], Place], list[list[str]]]
"""Lists of tests to try a mutant with, one after the other."""


def seconds_of(junit: Path) -> dict[str, float]:
    """Return the seconds of each test of a file that pytest wrote with ``--junitxml``."""
    found = {}
    for case in ET.parse(junit).iter("testcase"):
        path = case.get("classname", "").replace(".", "/") + ".py"
        found[f"{path}::{case.get('name')}"] = float(case.get("time", 0))
    return found


# --- trying them ---


def found_again(mutant: dict[str, Any], sources: dict[str, str]) -> Place | None:
    """Return where a mutant is now: in its function, else where its lines are found once."""
    before = mutant["before"]
    others: list[Place] = []
    for path in sorted(sources, key=lambda path: (path != mutant["path"], path)):
        source = sources[path]
        if before not in source:
            continue
        functions = functions_of(ast.parse(source))
        lines = source.splitlines()
        size = len(before.splitlines()) or 1
        places = [
            Place(path, function_at(functions, line) or "", line, before, mutant["after"])
            for line in range(1, len(lines) + 1)
            if "\n".join(lines[line - 1 : line - 1 + size]) == before
        ]
        same = [place for place in places if place.function == mutant["function"]]
        if same:
            return min(same, key=lambda place: abs(place.line - mutant["line"]))
        others += places
    return others[0] if len(others) == 1 else None


def sources_now() -> dict[str, str]:
    """Return the text of each module by its path in the checkout."""
    paths = [path for root in ROOTS for path in sorted((ROOT / root).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


def place(document: dict[str, Any]) -> None:
    """Write where each mutant is now; drop those whose lines are gone."""
    sources = sources_now()
    kept = []
    for mutant in document["mutants"]:
        found = found_again(mutant, sources)
        if found is None:
            print(f"gone: {mutant['path']}:{mutant['line']} {mutant['function']}")
        else:
            kept.append({**mutant, **found._asdict()})
    document["mutants"] = kept


def try_mutant(place: Place, tests: list[str], copy: Path) -> tuple[str, str]:
    """Return the outcome in a copy of the checkout, and the test that noticed the mutant."""
    path = copy / place.path
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    size = len(place.before.splitlines()) or 1
    lines[place.line - 1 : place.line - 1 + size] = place.after.splitlines()
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    environment = {
        **os.environ,
        "CI": "true",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(str(copy / root) for root in ROOTS),
    }
    words = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-rfE"]
    words += ["-p", "no:randomly", "-p", "no:cacheprovider", "-n", "0", *tests]
    process = subprocess.Popen(
        words,
        cwd=copy,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=MUTANT_S)
    except subprocess.TimeoutExpired:
        return "killed", "(a test did not end)"
    finally:
        # Also the servers that the tests have started.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        path.write_text(source, encoding="utf-8")
    if process.returncode in (0, NOT_FOUND):
        return "survived", "" if process.returncode == 0 else "(its test is gone)"
    noticed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    return "killed", noticed[1] if noticed else f"(status {process.returncode})"


def tests_that_noticed(mutant: dict[str, Any], found: Place) -> list[list[str]]:
    """Return the test that noticed a mutant, then its file, then the unit tests of its folder."""
    path, _, name = mutant["test"].partition("::")
    folder = Path("tests/unit", *Path(found.path).parent.parts[2:])
    lists = [[mutant["test"]], [path]] if name and (ROOT / path).is_file() else []
    return lists + [[str(folder)]] * (ROOT / folder).is_dir()


def run(mutants: list[dict[str, Any]], jobs: int, tests_of: TestsOf) -> None:
    """Try mutants, each with its lists of tests in turn; write the outcome into its row."""
    sources = sources_now()
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    copies: Queue[Path] = Queue()
    for number in range(jobs):
        copies.put(folder / str(number))
        shutil.copytree(
            ROOT,
            folder / str(number),
            symlinks=True,
            ignore=shutil.ignore_patterns(".venv*", ".cache", "build", "dist", "__pycache__"),
        )

    def try_lists(found: Place, lists: list[list[str]]) -> tuple[str, str]:
        outcome, test = "survived", "(no test reaches it)"
        for tests in lists:
            copy = copies.get()
            try:
                outcome, test = try_mutant(found, tests, copy)
            finally:
                copies.put(copy)
            if outcome == "killed":
                break
        return outcome, test

    def attempt(mutant: dict[str, Any]) -> None:
        found = found_again(mutant, sources)
        outcome, test = ("gone", "") if found is None else try_lists(found, tests_of(mutant, found))
        mutant["outcome"], mutant["test"] = outcome, test or mutant.get("test", "")
        where = f"{mutant['path']}:{mutant['line']} {mutant['function']}"
        print(f"{outcome}: {where} {test}", flush=True)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(attempt, mutants))
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Choose mutants, or try them."""
    parser = argparse.ArgumentParser(description="Mutants of the code that must not be wrong.")
    commands = parser.add_subparsers(dest="command", required=True)
    sampling = commands.add_parser("sample", help="choose mutants and write mutants.json")
    sampling.add_argument("--mutants", type=int, default=70, help="of each subject (70)")
    sampling.add_argument("--seed", type=int, default=1)
    running = commands.add_parser("run", help="try the mutants of mutants.json")
    running.add_argument("--killed", action="store_true", help="only those that were killed")
    running.add_argument("--jobs", type=int, default=2)
    running.add_argument("--output", type=Path, default=RESULTS)
    commands.add_parser("place", help="write where the mutants of mutants.json are now")
    times = commands.add_parser("times", help="write the seconds of each test (make coverage)")
    times.add_argument("junit", type=Path)
    options = parser.parse_args()
    if options.command == "times":
        found = seconds_of(options.junit)
        (COVERAGE / "seconds.json").write_text(json.dumps(found), encoding="utf-8")
        return
    if options.command == "sample":
        chosen = choose(options.mutants, options.seed)
        document: dict[str, Any] = {"seed": options.seed, "mutants": chosen}
    elif options.command == "place":
        document = json.loads(RESULTS.read_text(encoding="utf-8"))
        place(document)
    else:
        document = json.loads(RESULTS.read_text(encoding="utf-8"))
        before = {id(each): each.get("outcome") for each in document["mutants"]}
        tried = [
            each
            for each in document["mutants"]
            if not options.killed or before[id(each)] == "killed"
        ]
        if options.killed:
            tests_of: TestsOf = tests_that_noticed
        else:
            reached = Reached()

            def tests_of(_mutant: dict[str, Any], found: Place) -> list[list[str]]:
                tests = reached.tests(found.path, found.line)
                return [tests] if tests else []

        run(tried, options.jobs, tests_of)
        for subject in SUBJECTS:
            counts = Counter(each["outcome"] for each in tried if each["subject"] == subject)
            print(f"{subject}: {dict(counts)}")
        worse = [e for e in tried if before[id(e)] == "killed" and e["outcome"] == "survived"]
        for each in worse:
            print(f"no longer noticed: {each['path']} {each['function']}\n{each['after']}")
    target = options.output if options.command == "run" else RESULTS
    target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
