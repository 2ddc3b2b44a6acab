"""How a command that cannot go on says so: a line for each problem on stderr, never a traceback.

Only a backtest ends with the status 1: a script that runs one must not take a full disk for its
answer.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from doorkeeper_pipeline.errors import Conflicting, PipelineError, TooManyUnread

LOSES = 1
USAGE = 2
FAILED = 3
CONTRADICTED = 4
OVER_BUDGET = 5
INTERRUPTED = 130
TERMINATED = 143

HELP = {"help_option_names": ["-h", "--help"]}
"""The settings of all commands."""

STATUSES = """\b
Exit statuses: 0 done; 1 (backtest) someone would lose access; 2 wrong usage, or
inputs that do not belong together; 3 failed; 4 (run, report, backtest) done, but
the recorded decisions contradict the ACLs and options, or (backtest) are not
enough evidence; 5 (run) too many lines could not be read; 130 ended by Ctrl-C;
143 by SIGTERM.
Only with 0, 1 and 4 is anything written."""


@contextmanager
def report_failures() -> Iterator[None]:
    """Convert the errors of the pipeline to lines and a status.

    Raises:
        SystemExit: in place of a PipelineError, a missing package, an error of a file, and of
            any other error, which is reported with its place in the code.

    """
    try:
        yield
    except TooManyUnread as error:
        say(str(error))
        raise SystemExit(OVER_BUDGET) from None
    except Conflicting as error:
        say(str(error))
        raise SystemExit(USAGE) from None
    except PipelineError as error:
        say(str(error))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is not None:
            say(f"{error.name} is not installed: pip install 'doorkeeper[{extra}]'")
        else:
            say(_describe_unexpected(error))
    except OSError as error:
        say(f"{error.filename or 'output'}: {error.strerror or error}")
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001  a panic of Polars is no Exception
        say(_describe_unexpected(error))
    else:
        return
    raise SystemExit(FAILED)


def _terminate(*_: object) -> None:
    raise SystemExit(TERMINATED)


@contextmanager
def ended_by_others() -> Iterator[None]:
    """Give Ctrl-C, SIGTERM and a closed output statuses of their own: Click's is 1.

    Raises:
        SystemExit: in place of them.

    """
    # As Ctrl-C, it lets a run delete the files of which no table will know.
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # What Python itself would still write at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAILED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


EXTRAS = {
    **dict.fromkeys(("deltalake", "jinja2", "numpy", "obstore", "polars", "pyarrow"), "pipeline"),
    **dict.fromkeys(("pandas", "pyspark"), "spark"),
}
"""The extra that installs each package."""


def _describe_unexpected(error: BaseException) -> str:
    """Return a line with an unexpected error and its place in our code."""
    first = next(iter(str(error).strip().splitlines()), "")
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({Path(frames[-1].filename).name} line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {first}{location}"


def say(text: str) -> None:
    for line in text.splitlines():
        sys.stderr.write(f"doorkeeper-pipeline: {printable(line)}\n")


def printable(text: str) -> str:
    """Return a text that moves no cursor: names of principals come from outside."""
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


def show(text: str) -> None:
    """Print a text on stdout; characters that its encoding lacks become escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
