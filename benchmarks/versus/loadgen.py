"""The load generator: compiled once for each state of its source, run with prepared frames."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = Path(__file__).with_name("loadgen.c")
CACHE = Path(__file__).parents[2] / ".cache" / "loadgen"
GRACE_S = 150


class Failed(Exception):
    """A load did not run to its end; the text is the generator's."""


class Result(NamedTuple):
    """What came of a load.

    ``kept`` are the first answers to each frame, behind their headers; ``left`` is how many
    requests had no answer when the generator went.
    """

    answers: int
    seconds: float
    rate: float
    p50_us: float
    p99_us: float
    max_us: float
    own_cpu_s: float
    left: int
    histogram_us: dict[str, int]
    kept: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is sent, and how; the fields are the generator's options (see its source)."""

    frames: Sequence[bytes]
    connections: int = 1
    in_flight: int = 1
    warm_s: float = 0.0
    time_s: float = 1.0
    requests_max: int | None = None
    once: bool = False
    pace_us: int | None = None
    hello: Sequence[bytes] = field(default=())
    same: bool = False
    keep: bool = False

    def options(self, folder: Path) -> list[str]:
        """Write the frames; return the words of the command behind the port."""
        (folder / "frames").write_bytes(b"".join(self.frames))
        words = [str(folder / "frames"), "-c", str(self.connections), "-f", str(self.in_flight)]
        words += ["-w", str(self.warm_s), "-t", str(self.time_s)]
        if self.requests_max is not None:
            words += ["-n", str(self.requests_max)]
        if self.pace_us is not None:
            words += ["-p", str(self.pace_us)]
        if self.hello:
            (folder / "hello").write_bytes(b"".join(self.hello))
            words += ["-h", str(folder / "hello")]
        if self.keep:
            words += ["-s", str(folder / "kept")]
        return words + ["-o"] * self.once + ["-k"] * self.same


def program() -> Path:
    """Return the compiled generator.

    Raises:
        Failed: there is no C compiler, or it refuses the source.

    """
    made = CACHE / hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    if made.exists():
        return made
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Failed("no C compiler; `make setup-system` installs one")
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-O2", "-Wall", "-Wextra", "-o", f"{made}.new", str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"the load generator does not compile: {done.stderr}")
    Path(f"{made}.new").rename(made)
    return made


class Running:
    """A load under way."""

    def __init__(self, port: int, load: Load) -> None:
        """Start it."""
        self._folder = tempfile.TemporaryDirectory(prefix="loadgen-")
        folder = Path(self._folder.name)
        self._kept = folder / "kept"
        self._process = subprocess.Popen(
            [str(program()), str(port), *load.options(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._limit_s = load.warm_s + load.time_s + GRACE_S

    def result(self) -> Result:
        """Wait for its end.

        Raises:
            Failed: an answer was wrong, or did not come.

        """
        try:
            out, err = self._process.communicate(timeout=self._limit_s)
            if self._process.returncode != 0:
                raise Failed(err.strip())
            kept = tuple(_answers(self._kept.read_bytes())) if self._kept.exists() else ()
        except subprocess.TimeoutExpired:
            raise Failed(f"no end after {self._limit_s:.0f} s") from None
        finally:
            self.stop()
        found = json.loads(out)
        told = {name: found[name] for name in Result._fields if name != "kept"}
        return Result(kept=kept, **told)

    def stop(self) -> None:
        """End it, whatever it does, and leave nothing."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        self._folder.cleanup()


def run(port: int, load: Load) -> Result:
    """Run a load against a port of this machine.

    Raises:
        Failed: an answer was wrong, or did not come.

    """
    return Running(port, load).result()


def _answers(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4])
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found
