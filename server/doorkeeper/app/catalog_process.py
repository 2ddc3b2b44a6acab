"""Reading a large catalog in a process of its own, which leaves the interpreter to the server.

In a thread it would hold up everybody for as long as it takes: whoever reads YAML gives the
interpreter up every five milliseconds at most, and each of others' requests waits for that.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from doorkeeper.app.errors import StartError
from doorkeeper.catalog.lines import Faulty, Unfinished, catalog_from
from doorkeeper.runtime.threads import beside
from doorkeeper.runtime.turns import run_in_turns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from doorkeeper.catalog.loading import Catalog

READ_S: Final = 120.0
"""The largest file takes some ten seconds; one whose anchors make it endless ends here."""

_TOLD_MAX: Final = 200


async def read_apart(
    file: Path, *, most_s: float = READ_S, module: str = "doorkeeper.catalog.apart"
) -> Catalog:
    """Return the catalog of a file; given up, the process ends too. ``module`` does the reading.

    Raises:
        StartError: with every fault of the file; or the process does not start, or does not
            end well.

    """
    try:
        process = _started([module, str(file)])
    except OSError as error:
        raise _not_read(file, f"cannot be started: {error.strerror}") from error
    try:
        output = await beside(lambda: _output_of(process, file, most_s), "doorkeeper-catalog")
        return await run_in_turns(catalog_from(io.BytesIO(output), str(file)))
    except Faulty as error:
        raise StartError(*error.problems) from error
    except Unfinished as error:
        raise _not_read(file, f"has told something else: {error}") from error
    finally:
        # Whoever waits for it in the thread reaps it.
        process.kill()


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    # It imports what this process would, and nothing from a folder that it happens to be in.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(  # noqa: S603  ourselves
        [sys.executable, "-P", "-m", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        # A signal from the terminal is for the server, which ends this one.
        start_new_session=True,
    )


def _output_of(process: subprocess.Popen[bytes], file: Path, most_s: float) -> bytes:
    """Wait for the end of the process; return what it wrote.

    Raises:
        StartError: it did not end well, or not in time.

    """
    try:
        output, errors = process.communicate(timeout=most_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise _not_read(file, f"took longer than {most_s:g} s") from None
    if process.returncode:
        raise _not_read(file, _ended(process.returncode, errors))
    return output


def _ended(status: int, errors: bytes) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    last = errors.decode(errors="replace").strip().rpartition("\n")[2]
    return f"ended with status {status}: {last[:_TOLD_MAX]}"


def _not_read(file: Path, why: str) -> StartError:
    return StartError(f"{file}: the process that reads it {why}")
