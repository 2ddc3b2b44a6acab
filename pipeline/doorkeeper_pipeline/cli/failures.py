"""How a command that cannot go on says so: a line for each problem on stderr, never a traceback.

0  done
1  backtest: someone would lose access
2  wrong usage
3  it could not be done; nothing was changed
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from doorkeeper_pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOSES = 1
FAILED = 3

STATUSES = """\b
Exit status: 0 done; 1 (backtest) someone would lose access; 2 wrong usage;
3 it could not be done, and nothing was changed."""


@contextmanager
def told() -> Iterator[None]:
    """Turn what the pipeline raises into lines and a status.

    Raises:
        SystemExit: in place of a PipelineError, a missing package, or an error of a file.

    """
    try:
        yield
    except PipelineError as error:
        _say(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        _say(f"{error.name} is not installed: pip install 'doorkeeper[pipeline]'")
    except OSError as error:
        _say(f"{error.filename or 'output'}: {error.strerror or error}")
    else:
        return
    raise SystemExit(FAILED)


EXTRA = frozenset(("jinja2", "numpy", "pandas", "polars", "pyarrow", "pyspark"))
"""What the extra ``pipeline`` installs."""


def _say(text: str) -> None:
    for line in text.splitlines():
        sys.stderr.write(f"doorkeeper-pipeline: {printable(line)}\n")


def printable(text: str) -> str:
    """Return a text that moves no cursor: names of principals come from outside."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
