"""Mutants of the source, to see whether the tests notice them.

    PYTHONPATH=tests python -m testkit.mutation authorizer log codec session --mutants 100

changes one place at a time (a comparison, a constant, a condition, a statement that is left out)
in a random sample of each subject, and runs the tests of that subject that reach the line. A mutant
that no test notices has survived: it is printed with its place. Some survivors are equivalent to
the original (a time-out that is longer by a second); the others show where a test is missing.

Each mutant runs in a process that is forked from one that has imported everything but the project,
so that most take a second or two. Nothing is written to the checkout.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.util
import inspect
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from testkit.checkout import COMPONENT_ROOTS, ROOT, is_generated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, FrameType, ModuleType

    from _typeshed import TraceFunction

SUBJECTS = {
    "authorizer": (["server/doorkeeper/authorizer"], ["tests/unit/authorizer"]),
    "log": (["server/doorkeeper/state/log.py"], ["tests/unit/state"]),
    "codec": (["protocol/doorkeeper_wire/*.py"], ["tests/unit/wire", "tests/property/wire"]),
    "session": (["server/doorkeeper/connection/session.py"], ["tests/unit/connection"]),
}
"""What is changed, and the tests that should notice."""

OURS = ("doorkeeper", "testkit", "tests", "conftest", "benchmarks", "test_", "__main__")
PLUGINS = ("pytest", "_pytest", "hypothesis", "_hypothesis")
"""pytest rewrites them when it begins, and complains where they are imported already."""

# The tests of a line run from the quickest on, for about so long: the slow ones rarely notice more.
TESTS_S = 20.0
MUTANT_S_MAX = 120.0
TIMED_OUT = -1
CALLS_MAX = 200

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


class Mutant(NamedTuple):
    """A file with one place changed; ``before`` and ``after`` are the texts of that place."""

    path: Path
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        where = f"{self.path.relative_to(ROOT).as_posix()}:{self.line}"
        return f"{where}: {_on_one_line(self.before)} -> {_on_one_line(self.after)}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


# --- making mutants ---


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a module, in the order of its source."""
    source = path.read_text(encoding="utf-8")
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for each in lines:
        starts.append(starts[-1] + len(each))
    found = []
    for node, changed in _changes(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        data = source.encode()
        after = ast.unparse(changed)
        if isinstance(changed, ast.expr):
            after = f"({after})"
        mutated = (data[:begin] + after.encode() + data[end:]).decode()
        found.append(Mutant(path, node.lineno, data[begin:end].decode(), after, mutated))
    return found


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | ast.stmt]]:
    """Yield each place of a module that can be changed, and what it is changed into."""
    for node in _executed(tree):
        if isinstance(node, ast.expr):
            for changed in _changed_expressions(node):
                yield node, changed
        elif isinstance(node, ast.stmt):
            if isinstance(node, ast.If | ast.While):
                if not isinstance(node.test, ast.Compare | ast.UnaryOp):  # changed themselves
                    yield node.test, ast.UnaryOp(ast.Not(), node.test)
            elif (statement := _changed_statement(node)) is not None:
                yield node, statement


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one, without annotations, types, patterns and texts."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "pattern"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.Assert):  # states what is always so
                continue
            yield child
            yield from _executed(child)


def _changed_expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            changed = copy.copy(node)
            changed.ops = [COMPARISONS[type(operator)]()]
            yield changed
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            if not any(
                isinstance(each, ast.Constant | ast.JoinedStr) and not _is_number(each)
                for each in (left, right)
            ):
                yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case _:
            pass


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _changed_statement(node: ast.stmt) -> ast.stmt | None:
    match node:
        case ast.Return(value=value) if value is not None and not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            return ast.Return(ast.Constant(None))
        case (
            ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Delete() | ast.Raise()
        ):
            return ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return ast.Pass()
        case ast.Break():
            return ast.Continue()
        case ast.Continue():
            return ast.Break()
        case _:
            return None


# --- which tests reach which line ---


class Reached(NamedTuple):
    """A run without mutants: which tests reach a line, how long each takes."""

    tests: dict[str, dict[int, list[str]]]
    """Tests, or whole files of tests, by file and line; none for a line that only imports reach."""
    seconds: dict[str, float]
    modules: list[str]
    """All that was imported and is not of the project."""


def _file_of(name: str) -> str:
    return name.partition("::")[0]


class _Tracer:
    """A plugin of pytest that notes the lines of some files that each test reaches."""

    def __init__(self, paths: set[str]) -> None:
        self.paths = paths
        self.tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._calls: Counter[CodeType] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        # Parameters are computed while a file is collected: all its tests may depend on them.
        self._name = _file_of(collector.nodeid)
        return (yield from self._traced())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        # What a fixture of a module or a run reaches, all tests of the file may depend on.
        self._name = _file_of(item.nodeid)
        return (yield from self._traced())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self._name = item.nodeid
        start = time.perf_counter()
        try:
            return (yield from self._traced())
        finally:
            self.seconds[item.nodeid] = time.perf_counter() - start

    def _traced(self) -> Iterator[None]:
        self._calls.clear()
        sys.settrace(self._on_call)
        threading.settrace(self._on_call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def _on_call(self, frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        code = frame.f_code
        # The bodies of modules and classes run once, for all tests.
        if code.co_filename not in self.paths or not code.co_flags & inspect.CO_OPTIMIZED:
            return None
        # Tracing is slow: the first calls of a function in a test reach what all of them reach.
        self._calls[code] += 1
        return self._on_line if self._calls[code] <= CALLS_MAX else None

    def _on_line(self, frame: FrameType, event: str, argument: object) -> TraceFunction:
        if event == "line":
            self.tests[frame.f_code.co_filename][frame.f_lineno].add(self._name)
        return self._on_line


def reached_lines(paths: Sequence[Path], tests: Sequence[str]) -> Reached:
    """Run the tests without mutants.

    Raises:
        SystemExit: they do not pass, so they could say nothing of a mutant.

    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "reached.json")

        def run() -> int:
            tracer = _Tracer({str(path) for path in paths})
            status = _pytest(tests, folder, tracer)
            reached = Reached(
                {
                    file: {line: sorted(names) for line, names in lines.items()}
                    for file, lines in tracer.tests.items()
                },
                tracer.seconds,
                sorted(name for name in sys.modules if not name.startswith(OURS)),
            )
            result.write_text(json.dumps(reached), encoding="utf-8")
            return status

        status = _forked(run, timeout_s=1800)
        if status != 0:
            raise SystemExit(f"the tests fail without a mutant: {' '.join(tests)}")
        loaded_tests, seconds, names = json.loads(result.read_text(encoding="utf-8"))
    by_line = {
        file: {int(line): found for line, found in lines.items()}
        for file, lines in loaded_tests.items()
    }
    return Reached(by_line, seconds, names)


# --- trying a mutant ---


class _MutantImporter(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module from another source."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = _module_name(mutant.path)

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        is_package = self._mutant.path.name == "__init__.py"
        return importlib.util.spec_from_file_location(
            fullname,
            self._mutant.path,
            loader=self,
            submodule_search_locations=[str(self._mutant.path.parent)] if is_package else None,
        )

    def get_source(self, fullname: str) -> str:
        return self._mutant.source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutant.source, str(self._mutant.path), "exec", dont_inherit=True)


def _module_name(path: Path) -> str:
    for root in COMPONENT_ROOTS:
        if path.is_relative_to(ROOT / root):
            parts = path.relative_to(ROOT / root).with_suffix("").parts
            return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    raise ValueError(f"{path} is in none of {COMPONENT_ROOTS}")


class _Chosen:
    """A plugin of pytest that runs some tests only, in their order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._order = {name: number for number, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order),
            key=lambda item: self._order[item.nodeid],
        )


def status_with(mutant: Mutant, tests: Sequence[str], reached: Reached) -> int:
    """Return the status of the tests with a mutant: 0 if all pass, TIMED_OUT if one never ends."""
    by_line = reached.tests.get(str(mutant.path), {})
    found = set(by_line.get(mutant.line) or map(_file_of, reached.seconds))
    names = sorted(name for name in reached.seconds if {name, _file_of(name)} & found)
    chosen: list[str] = []
    total_s = 0.0
    for name in sorted(names, key=lambda name: reached.seconds.get(name, 0.0)):
        total_s += reached.seconds.get(name, 0.0)
        if chosen and total_s > TESTS_S:
            break
        chosen.append(name)
    files = sorted(set(map(_file_of, chosen))) or list(tests)

    def run() -> int:
        sys.meta_path.insert(0, _MutantImporter(mutant))
        return _pytest(files, folder, _Chosen(chosen), "--exitfirst")

    with tempfile.TemporaryDirectory() as folder:
        return _forked(run, timeout_s=min(MUTANT_S_MAX, 60 + 5 * total_s))


def _pytest(tests: Sequence[str], folder: str, plugin: object, *options: str) -> int:
    return int(
        pytest.main(
            [
                *("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--timeout=60"),
                "--assert=plain",  # its import hook would hide the mutant, and texts are not read
                f"--basetemp={folder}/tests",
                *options,
                *tests,
            ],
            plugins=[plugin],
        )
    )


def _forked(run: Callable[[], int], *, timeout_s: float) -> int:
    """Return the status of a function in a process of its own; TIMED_OUT if it does not end."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            # Hypothesis would remember the failures of a mutant.
            os.environ["CI"] = "true"
            status = run()
        finally:
            os._exit(status)
    deadline = time.monotonic() + timeout_s
    try:
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
    finally:
        # Also what the tests have started, and the child itself where it has not ended.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return TIMED_OUT


# --- the command ---


class Outcome(NamedTuple):
    """The mutants of a subject that were tried."""

    subject: str
    possible: int
    tried: int
    timed_out: int
    survivors: list[Mutant]

    def __str__(self) -> str:
        noticed = self.tried - len(self.survivors)
        share = 100 * noticed / self.tried if self.tried else 100.0
        return (
            f"{self.subject}: {noticed} of {self.tried} mutants noticed ({share:.0f} %),"
            f" {self.timed_out} of them because a test did not end; {self.possible} are possible"
        )


def try_subject(subject: str, *, mutants: int, seed: int) -> Outcome:
    """Try a random sample of the mutants of a subject, and print those that survive."""
    patterns, tests = SUBJECTS[subject]
    paths = [path for pattern in patterns for path in _modules_at(pattern)]
    reached = reached_lines(paths, tests)
    for name in reached.modules:
        if not name.startswith(PLUGINS):
            with contextlib.suppress(Exception):  # what only a test can import is imported there
                importlib.import_module(name)
    possible = [mutant for path in paths for mutant in mutants_of(path)]
    sample = random.Random(seed).sample(possible, min(mutants, len(possible)))
    survivors, timed_out = [], 0
    for mutant in sorted(sample, key=lambda mutant: (mutant.path, mutant.line)):
        status = status_with(mutant, tests, reached)
        timed_out += status == TIMED_OUT
        if status == 0:
            survivors.append(mutant)
            print(f"  survived: {mutant}", flush=True)  # noqa: T201 - the result
    return Outcome(subject, len(possible), len(sample), timed_out, survivors)


def _modules_at(pattern: str) -> list[Path]:
    found = [ROOT / pattern] if "*" not in pattern else sorted(ROOT.glob(pattern))
    paths = [each for path in found for each in ([path] if path.is_file() else path.glob("*.py"))]
    return sorted(path for path in paths if not is_generated(path))


def main() -> None:
    """Try mutants of the subjects on the command line."""
    parser = argparse.ArgumentParser(prog="testkit.mutation")
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--mutants", type=int, default=100, help="of each subject (100)")
    parser.add_argument("--seed", type=int, default=1, help="another one is another sample (1)")
    options = parser.parse_args()
    unknown = [subject for subject in options.subjects if subject not in SUBJECTS]
    if unknown:
        parser.error(f"no subject {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    for subject in options.subjects or SUBJECTS:
        print(try_subject(subject, mutants=options.mutants, seed=options.seed), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
