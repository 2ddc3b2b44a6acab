"""The commands of a page in Markdown: what it shows below each, and what a shell prints for it.

A page shows a command behind ``$ ``, in a block that is fenced or indented, and its output on the
lines below. A block with a file name behind its language is a file that readers write. A page
that starts a server shows ``$ doorkeeper serve`` in a block of its own, and ``^C`` where it stops.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple, Self

from testkit.checkout import ROOT
from testkit.kafka_broker import free_port
from testkit.load import scaled
from testkit.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=fence)$"
    r"|(?P<indented>(?:^    [^\n]*\n(?:\n(?=    ))?)+)",
    re.DOTALL | re.MULTILINE,
)
SERVE = "doorkeeper serve"
STOP = "^C"
FOLDER = re.compile(r"&& cd (/tmp/[\w-]+)$", re.MULTILINE)
SERVER = "localhost:9092"
OPERATIONS = "127.0.0.1:9404"
"""The ports that pages name: a command gets the addresses of the server that really runs."""

PROGRAMS: Mapping[str, str] = {
    "doorkeeper": "-m doorkeeper",
    "doorkeeper-pipeline": "-m doorkeeper_pipeline",
    "pytest": "-m pytest -p no:cacheprovider",
    "python": "",
}
TIME_OUT_S = 100
VARIABLE = re.compile(
    r"127\.0\.0\.1:\d+|-0-\d+,|Session@\d+|(?<=; cluster )[\w-]{22}"
    r"|(?<=, store )[\w-]{22}|(?<=    store: )[\w-]{22}|(?<=    cluster: )[\w-]{22}"
    r"|(?<=reported\": \")[\d-]+|(?<=first_seen\": \")[\d-]+"
    r"|\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z|(?<=doorkeeper-client/)[\d.]+(?: #\d+)?|correlation id: \d+"
    r"|\b[0-9a-f]{64}\b|(?<=_ns\": )\d+|orrelation_?[iI]d\": \d+|(?<=key\": \")[\w-]{22}"
    r"|(?<=by process )\d+|(?<=before-restore-)\d+T\d+Z"
    r"|(?<= in )\d+\.\d+ ?s|(?<=\[) *\d+\.\d(?= s\])|\(\d+ times?\)|first at [\dTZ:-]+"
)
"""What differs from run to run: ports, connections, ids of clusters, durations and times."""


class Command(NamedTuple):
    """A command of a page, and the output that the page shows below it."""

    line: str
    shown: str


class File(NamedTuple):
    """A file that readers of a page write. A second block of a name goes on with the file."""

    name: str
    text: str


def page(name: str) -> str:
    """Return the text of the page for readers with a name, which is in one folder of ``docs/``."""
    (found,) = (each for each in (ROOT / "docs").rglob(name) if each.parent.name != "decisions")
    return found.read_text(encoding="utf-8")


def steps(text: str) -> list[Command | File]:
    """Return the commands and files of a page, in its order."""
    found: list[Command | File] = []
    for block in BLOCK.finditer(text):
        indent = block["indent"] if block["fence"] else "    "
        body = re.sub(f"(?m)^{indent}", "", block["body"] if block["fence"] else block["indented"])
        if body.rstrip() == STOP:
            found.append(Command(STOP, ""))
        elif body.startswith("$ "):
            parts = re.split(r"(?m)^\$ ", body)[1:]
            found += [Command(line, shown) for line, _, shown in map(split_command, parts)]
        elif block["fence"] and len(words := block["info"].split()) == 2:
            found.append(File(words[1], body))
    return found


def split_command(part: str) -> tuple[str, str, str]:
    """Part a command from its output. A backslash at the end of a line goes on with the next."""
    matched = re.match(r"(?:.*\\\n)*.*", part)
    assert matched
    return matched[0], "\n", part[matched.end() + 1 :]


def commands(text: str) -> list[Command]:
    """Return the commands of a page, in its order."""
    return [step for step in steps(text) if isinstance(step, Command)]


def comparable(found: list[Command]) -> list[tuple[str, str]]:
    """Return the commands and outputs without what differs from run to run."""
    return [(line, VARIABLE.sub("...", shown).rstrip("\n")) for line, shown in found]


class Reader:
    """Does what a page says, in one folder, with the commands of this environment on the path."""

    def __init__(
        self, folder: Path, programs: Path, *, server: str | None = None, **environment: str
    ) -> None:
        """Take the folder to work in, one for the programs, and a server that runs already."""
        self.folder = folder
        self.server = server or f"localhost:{free_port()}"
        self._operations = f"127.0.0.1:{free_port()}"
        self._folder_of_page = str(folder)
        self.serving: Serving | None = None
        self._environment = os.environ | environment
        self._environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        programs.mkdir(exist_ok=True)
        for name, words in PROGRAMS.items():
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
            program.chmod(0o755)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def follow(self, text: str) -> list[Command]:
        """Write the files and run the commands of a page; return the commands as they printed."""
        printed = []
        if changed := FOLDER.search(text):
            self._folder_of_page = changed[1]
        for step in steps(text):
            if isinstance(step, File):
                path = self.folder / step.name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a", encoding="utf-8") as file:
                    file.write(self._addressed(step.text))
            elif step.line == STOP:
                self.stop()
                printed.append(step)
            elif SERVE in step.line:
                self._serve(step.line)
                printed.append(step)
            else:
                printed.append(Command(step.line, self.run(step.line)))
        return printed

    def run(self, line: str) -> str:
        """Run a command in a shell; return what it prints, stderr too."""
        done = subprocess.run(
            ["bash", "-c", self._addressed(line)],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=scaled(TIME_OUT_S),
            check=False,
        )
        text = done.stdout.replace(str(self.folder), self._folder_of_page)
        return text.replace(self.server, SERVER).replace(self._operations, OPERATIONS)

    def stop(self) -> None:
        """Stop the server that a command has started, as Ctrl-C does."""
        if self.serving is not None:
            with self.serving as serving:
                assert serving.stop() == 0
            self.serving = None

    def _addressed(self, text: str) -> str:
        """Replace the ports of the page by those in use."""
        return text.replace(SERVER, self.server).replace(OPERATIONS, self._operations)

    def _serve(self, line: str) -> None:
        """Start what the command starts, on a free port. The page's next server replaces it."""
        self.stop()
        before, _, options = self._addressed(line).partition(SERVE)
        words = options.replace("\\\n", " ").split()
        if "--config" not in words:
            words += ["--override", f"listeners=PLAINTEXT://{self.server}"]
        environment = dict(word.split("=", 1) for word in before.split())
        self.serving = Serving(self.folder, *words, environment=environment)
        self.serving.line("started")
