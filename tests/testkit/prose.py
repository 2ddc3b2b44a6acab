"""Measure the words of the code: ``PYTHONPATH=tests python -m testkit.prose [--list]``.

Only files written by hand are measured. Without an option the command prints a table, a row for
each component; ``--list`` names the places that raise its numbers.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from testkit.checkout import ROOT, is_generated, modules, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

COMPONENTS = ("server", "protocol", "pipeline", "broker")

SUBJECTS = frozenset(
    {"who", "what", "whoever", "whatever", "nobody", "somebody", "anybody", "everybody"}
)
"""Pronouns that stand where a sentence could name the thing: the client, the value, the caller."""

# A participle that is also the verb (`read`, `set`, `put`, `split`, `run`) is not here: as the name
# of a function it is a verb. Nor is `bound`: it is the field's noun for a limit.
_IRREGULAR = """
begun bent bitten blown born borne bought broken brought built caught chosen crept
dealt done drawn driven eaten fallen fed felt fled flown forbidden foreseen forgotten
forgiven fought found frozen given gone got grown heard held hidden hung kept known laid
lain leant learnt led left lent lit lost made meant met misread mistaken outgrown overridden
overtaken overwritten paid proven rebuilt redone remade rewritten ridden risen rung said sawn
seen sent sewn shaken shown shrunk slept slid sold sought spent spoken spun stolen stood struck
stuck sunk swung taken taught thought thrown told torn undone understood upheld
withdrawn withheld woken won worn wound woven written
"""
IRREGULAR = frozenset(_IRREGULAR.split())

# Words in -ed that are verbs or nouns.
NOT_PARTICIPLES = frozenset(
    {"bed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"}
)

_PREPOSITIONS = """
about above after against among around as at before behind below beside between beyond by down
for from in into of off on onto out over since through to under until up upon with within
without
"""
PREPOSITIONS = frozenset(_PREPOSITIONS.split())

# Methods whose names asyncio has chosen.
OVERRIDES = frozenset(
    {
        "buffer_updated",
        "connection_lost",
        "connection_made",
        "data_received",
        "eof_received",
        "error_received",
        "get_buffer",
        "pause_writing",
        "resume_writing",
    }
)

WORD = re.compile(r"[A-Za-z]+(?:[-'][A-Za-z]+)*")
LITERAL = re.compile(r"``.*?``|`[^`\n]*`", re.DOTALL)
# Comments that are instructions to a tool.
DIRECTIVE = re.compile(r"#\s*(?:!|noqa\b|type:|mypy:|ruff:|fmt:|pragma\b)")
NO_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
        tokenize.INDENT,
        tokenize.NEWLINE,
        tokenize.NL,
    }
)


class Place(NamedTuple):
    """A line of the checkout, and the text in it that was counted."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.text}"


class Measurement(NamedTuple):
    """Counts over some files, and the places that they come from."""

    docstring_words: int
    subjects: tuple[Place, ...]
    functions: int
    participles: tuple[Place, ...]
    class_names: int
    classes: int
    shared_classes: tuple[Place, ...]
    """Every class whose name is the name of another one too, sorted by name."""
    code_lines: int
    comment_lines: int

    @property
    def subjects_per_1000(self) -> float:
        """Return how many of 1,000 words in docstrings are one of SUBJECTS."""
        return 1000 * len(self.subjects) / max(self.docstring_words, 1)

    @property
    def participle_percent(self) -> float:
        """Return the share of functions and methods that are named by a bare participle."""
        return 100 * len(self.participles) / max(self.functions, 1)

    @property
    def shared_name_percent(self) -> float:
        """Return the share of class names that are the name of several classes."""
        shared = {place.text for place in self.shared_classes}
        return 100 * len(shared) / max(self.class_names, 1)

    @property
    def comment_percent(self) -> float:
        """Return the number of comment lines for 100 lines of code."""
        return 100 * self.comment_lines / max(self.code_lines, 1)


def written_by_hand(component: str) -> list[Path]:
    """Return the Python files of one component root that no generator writes, sorted."""
    root = ROOT / component
    return [path for path in modules() if path.is_relative_to(root) and not is_generated(path)]


def measure_files(paths: Iterable[Path]) -> Measurement:
    """Measure the text of some files together."""
    return measure((name_of(path), path.read_text(encoding="utf-8")) for path in paths)


def measure(sources: Iterable[tuple[str, str]]) -> Measurement:
    """Measure pairs of a file's name and its source together."""
    words = functions = code_lines = comment_lines = 0
    subjects: list[Place] = []
    participles: list[Place] = []
    classes: dict[str, list[Place]] = defaultdict(list)
    for file, source in sources:
        tree = ast.parse(source, filename=file)
        strings = list(docstrings(tree))
        for string in strings:
            words += len(words_of(string))
            subjects += subjects_in(file, string)
        for function in counted_functions(tree):
            functions += 1
            if is_participle(function.name):
                participles.append(Place(file, function.lineno, function.name))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(Place(file, node.lineno, node.name))
        code, comments = lines_of_code_and_comments(source, strings)
        code_lines += code
        comment_lines += comments
    shared = [classes[name] for name in sorted(classes) if len(classes[name]) > 1]
    return Measurement(
        docstring_words=words,
        subjects=tuple(subjects),
        functions=functions,
        participles=tuple(participles),
        class_names=len(classes),
        classes=sum(len(same) for same in classes.values()),
        shared_classes=tuple(place for places in shared for place in places),
        code_lines=code_lines,
        comment_lines=comment_lines,
    )


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield each string that is a statement: docstrings, also those of attributes."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.value


def words_of(string: ast.Constant) -> list[str]:
    """Return the words of a docstring in lower case, quoted code left out."""
    return [word.lower() for word in WORD.findall(LITERAL.sub(" ", str(string.value)))]


def subjects_in(file: str, string: ast.Constant) -> list[Place]:
    """Return a place for each of SUBJECTS in a docstring, with the docstring's first line."""
    first = str(string.value).strip().partition("\n")[0]
    return [
        Place(file, string.lineno, f"{word}: {first}")
        for word in words_of(string)
        if word.partition("'")[0] in SUBJECTS
    ]


def counted_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions that the project names: no dunder, no test, no method of asyncio's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            dunder = node.name.startswith("__") and node.name.endswith("__")
            if not dunder and not node.name.startswith("test_") and node.name not in OVERRIDES:
                yield node


def is_participle(name: str) -> bool:
    """Return whether a function's name is a past participle, or one and a preposition.

    `granted` and `told_to` are; `granted_rows` names a thing, `is_granted` is a predicate.
    """
    first, *rest = name.strip("_").split("_")
    regular = first.endswith("ed") and first not in NOT_PARTICIPLES
    bare = not rest or (len(rest) == 1 and rest[0] in PREPOSITIONS)
    return bare and (regular or first in IRREGULAR)


def lines_of_code_and_comments(source: str, strings: Iterable[ast.Constant]) -> tuple[int, int]:
    """Return the number of lines that hold code, and of those that hold a comment.

    Docstrings are neither. A comment behind code counts as a comment line as well; an instruction
    to a tool does not.
    """
    prose = {
        line
        for string in strings
        for line in range(string.lineno, (string.end_lineno or string.lineno) + 1)
    }
    code: set[int] = set()
    comments = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments += DIRECTIVE.match(token.string) is None
        elif token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - prose), comments


def table(measurements: dict[str, Measurement]) -> str:
    """Return a table in Markdown with a row for each component."""
    head = (
        "| component | who, what, ... per 1,000 docstring words | functions named by a participle"
        " | class names of several classes | comment lines per 100 lines of code |\n"
        "|---|---|---|---|---|\n"
    )
    rows = [
        f"| {component} |"
        f" {it.subjects_per_1000:.2f} ({len(it.subjects)} of {it.docstring_words:,}) |"
        f" {it.participle_percent:.2f} % ({len(it.participles)} of {it.functions:,}) |"
        f" {it.shared_name_percent:.2f} %"
        f" ({len({place.text for place in it.shared_classes})} of {it.class_names:,};"
        f" {len(it.shared_classes)} of {it.classes:,} classes) |"
        f" {it.comment_percent:.2f} ({it.comment_lines:,} of {it.code_lines:,}) |\n"
        for component, it in measurements.items()
    ]
    return head + "".join(rows)


def places(measurement: Measurement) -> str:
    """Return a line for each place that raises a number, in a section for each number."""
    sections = {
        "who, what, ... in docstrings": measurement.subjects,
        "functions named by a participle": measurement.participles,
        "classes that share their name": measurement.shared_classes,
    }
    return "".join(
        f"\n{title}\n" + "".join(f"  {place}\n" for place in found)
        for title, found in sections.items()
    )


def main(arguments: list[str]) -> None:
    """Print the table; with ``--list`` also the places."""
    measurements = {name: measure_files(written_by_hand(name)) for name in COMPONENTS}
    sys.stdout.write(table(measurements))
    if "--list" in arguments:
        for measurement in measurements.values():
            sys.stdout.write(places(measurement))


if __name__ == "__main__":
    main(sys.argv[1:])
