"""Kafka's jars and the compiled runner, kept in a cache folder of the project.

``.cache/kafka/<version>/lib`` is filled by Maven from the pom beside the suites, once; a stamp of
the pom says that it is whole. ``classes-<stamp>`` holds the Java sources of the suites, compiled
against that release by the machine's compiler. A file lock keeps parallel runs apart.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import pytest

from testkit.load import scaled

PROJECT = Path(__file__).resolve().parents[2]
SOURCES = PROJECT / "tests" / "interop" / "kafka"
CLIENTS = PROJECT / "tests" / "interop" / "kafka_clients"
ORACLES = PROJECT / "tests" / "conformance" / "kafka"
CACHE = PROJECT / ".cache" / "kafka"

VERSIONS = ("4.3.1", "3.9.1")
"""The reference release, and the last one with the older tools and API versions 0."""

TOOLS = ("2.8.2", "3.6.2", "3.9.1", "4.3.1")
"""The releases of which the command-line tools are run."""

BROKERS = ("4.3.1", "4.4.0")
"""The releases of the brokers beside which the suites compare Doorkeeper."""

FETCH_S = 900


class Unavailable(Exception):
    """A real part cannot be had on this machine; the text is the reason to skip."""


def cannot(reason: str) -> NoReturn:
    """Skip with the reason; in CI, where every real part must be there, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jars:
    """One release of Kafka on this machine."""

    version: str
    lib: Path
    classes: Path
    first: Path | None = None
    """More jars, whose classes come before those of Kafka's."""

    @property
    def classpath(self) -> str:
        """What ``java -cp`` takes: our classes, then Kafka's jars."""
        first = "" if self.first is None else f"{self.first}/*:"
        return f"{self.classes}:{first}{self.lib}/*"


def jars(version: str, program: Path = SOURCES) -> Jars:
    """Return Kafka's jars and a program of ours, fetching and compiling what is missing.

    `program` is a folder of Java sources: the runner of tools, or an oracle.

    Raises:
        Unavailable: no Java, no Maven, or Maven could not reach a registry.
    """
    _require_java()
    home = CACHE / version
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        lib = _fetched(home, version)
        classes = _compiled(home, lib, program)
    return Jars(version=version, lib=lib, classes=classes)


def tool_jars(version: str) -> Jars:
    """Return the tools of any release of Kafka, and the runner alone.

    Raises:
        Unavailable: as ``jars``.
    """
    _require_java()
    home = CACHE / version
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        own = SOURCES / version / "pom.xml"
        lib = _fetched(home, version, own if own.exists() else SOURCES / "older" / "pom.xml")
        classes = _compiled(home, lib, SOURCES, "ToolRunner.java")
    return Jars(version=version, lib=lib, classes=classes)


def broker_jars(version: str) -> Jars:
    """Return the jars that a broker of a release needs.

    Of 4.4.0 the registry has no tools, so it has a folder of its own.

    Raises:
        Unavailable: as ``jars``.
    """
    pom = SOURCES / f"broker-{version}" / "pom.xml"
    if not pom.exists():
        return jars(version)
    _require_java()
    home = CACHE / pom.parent.name
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        lib = _fetched(home, version, pom)
    return Jars(version=version, lib=lib, classes=lib)


def client_jars(release: str, program: Path = CLIENTS) -> Jars:
    """Return the Java clients of any release of Kafka, and the program of ours that uses them.

    From 3.3 on a program with a pom of its own gets the jars of that pom.

    Raises:
        Unavailable: as ``jars``.
    """
    _require_java()
    own = program / "pom.xml"
    pom = own if own.exists() and not _is_before_3_3(release) else CLIENTS / "pom.xml"
    home = CACHE / f"{pom.parent.name.removeprefix('kafka_')}-{release}"
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        lib = _fetched(home, release, pom)
        classes = _compiled(home, lib, program)
    return Jars(version=release, lib=lib, classes=classes)


def _is_before_3_3(release: str) -> bool:
    """Return whether a release has no features of KRaft."""
    return tuple(map(int, release.split("."))) < (3, 3)


def program_jars(program: Path) -> Jars:
    """Return the jars of the pom beside a Java program, and the program.

    Raises:
        Unavailable: as ``jars``.
    """
    _require_java()
    home = CACHE / program.name
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        lib = _fetched(home, program.name, program / "pom.xml")
        classes = _compiled(home, lib, program)
    return Jars(version=program.name, lib=lib, classes=classes)


def other_jars(pom: Path) -> Path:
    """Return the folder of the jars of a pom that is none of Kafka's; its folder names it.

    Raises:
        Unavailable: as ``jars``.
    """
    _require_java()
    home = CACHE / pom.parent.name
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        return _fetched(home, pom.parent.name, pom)


def logging_by_log4j(jars: Jars) -> Jars:
    """Return the same jars with the logging of Kafka's distribution.

    Raises:
        Unavailable: as ``jars``.
    """
    home = CACHE / "log4j2"
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / "lock"):
        return replace(jars, first=_fetched(home, "log4j2"))


def _require_java() -> None:
    for needed in ("java", "javac"):
        if shutil.which(needed) is None:
            raise Unavailable(f"{needed} is not installed (make setup-system)")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stamp(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _fetched(home: Path, version: str, pom: Path | None = None) -> Path:
    if pom is None:
        poms = (folder / version / "pom.xml" for folder in (SOURCES, ORACLES))
        pom = next(pom for pom in poms if pom.exists())
    lib = home / "lib"
    stamp = home / "lib.stamp"
    if stamp.exists() and stamp.read_text() == _stamp(pom):
        return lib
    if shutil.which("mvn") is None:
        raise Unavailable("mvn is not installed (make setup-system)")
    shutil.rmtree(lib, ignore_errors=True)
    print(f"fetching Kafka {version} into {lib} (up to 55 MB, once)")  # noqa: T201 - the first run waits for it
    goal = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
    try:
        done = subprocess.run(
            # A second SLF4J binding would make every command warn on stderr.
            [
                *goal,
                f"-Dkafka.release={version}",
                f"-DoutputDirectory={lib}",
                "-DexcludeArtifactIds=slf4j-reload4j,slf4j-log4j12",
            ],
            capture_output=True,
            text=True,
            timeout=scaled(FETCH_S),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"Maven fetched no Kafka {version} in {FETCH_S} s") from error
    if done.returncode != 0:
        raise Unavailable(f"Maven fetched no Kafka {version}: {done.stdout.strip()[-400:]}")
    stamp.write_text(_stamp(pom))
    return lib


def _compiled(home: Path, lib: Path, program: Path, names: str = "*.java") -> Path:
    sources = sorted(program.glob(names))
    classes = home / f"classes-{program.name}-{_stamp(*sources)}"
    if classes.exists():
        return classes
    making = home / "classes.new"
    shutil.rmtree(making, ignore_errors=True)
    subprocess.run(
        ["javac", "-nowarn", "-cp", f"{lib}/*", "-d", str(making), *map(str, sources)],
        check=True,
        capture_output=True,
    )
    making.rename(classes)
    return classes
