"""Read a large catalog in a process of its own.

A thread would delay all requests: the YAML parser holds Python's global lock up to five
milliseconds at a time.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from doorkeeper.server.resources.catalog.errors import CatalogError, CatalogProblem
from doorkeeper.server.resources.catalog.lines import Unfinished, catalog_from
from doorkeeper.server.runtime.threads import beside
from doorkeeper.server.runtime.turns import run_in_turns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from doorkeeper.server.resources.catalog.loading import Catalog

# The largest file takes about ten seconds; the limit stops one whose anchors expand without end.
READ_S: Final = 120.0

_TOLD_MAX: Final = 200


async def read_apart(
    file: Path, *, most_s: float = READ_S, module: str = "doorkeeper.server.resources.catalog.apart"
) -> Catalog:
    """Return the catalog of a file; cancellation kills the process. ``module`` reads the file.

    Raises:
        CatalogError: with every fault of the file; or the process cannot be started, or fails.

    """
    try:
        process = _start([module, str(file)])
    except OSError as error:
        raise _not_read(file, f"cannot be started: {error.strerror}") from error
    try:
        output = await beside(lambda: _output_of(process, file, most_s), "doorkeeper-catalog")
        return await run_in_turns(catalog_from(io.BytesIO(output), str(file)))
    except Unfinished as error:
        raise _not_read(file, f"wrote invalid output: {error}") from error
    finally:
        # The thread that waits for the process also reaps it.
        process.kill()


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    # The same import path as this process, and nothing from the working directory (-P).
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(  # noqa: S603  ourselves
        [sys.executable, "-P", "-m", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        # A signal from the terminal must reach only the server, which ends this process.
        start_new_session=True,
    )


def _output_of(process: subprocess.Popen[bytes], file: Path, most_s: float) -> bytes:
    """Wait for the end of the process; return its output.

    Raises:
        CatalogError: it failed or timed out.

    """
    try:
        output, errors = process.communicate(timeout=most_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise _not_read(file, f"took longer than {most_s:g} s") from None
    if process.returncode:
        raise _not_read(file, _describe_exit(process.returncode, errors))
    return output


def _describe_exit(status: int, errors: bytes) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    # The last line of a traceback is the error.
    last = errors.decode(errors="replace").strip().rpartition("\n")[2]
    return f"ended with status {status}: {last[:_TOLD_MAX]}"


def _not_read(file: Path, why: str) -> CatalogError:
    return CatalogError([CatalogProblem(str(file), 0, "", f"the process that reads it {why}")])
