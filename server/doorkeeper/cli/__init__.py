"""The command ``doorkeeper``: a module or a package for each noun.

commands     the list of nouns; each is imported when it is called
serve        doorkeeper serve
acls         doorkeeper acls add, remove, list (edit), explain, who-can, what-can (questions), lint,
             export, import, diff, plan, apply (sets), undo; addresses on the command line
whoami       doorkeeper whoami: the principal that a broker sees, and the rule that names it
users        doorkeeper users, and doorkeeper users-file
store        doorkeeper store
history      doorkeeper history, doorkeeper watch
clusters     doorkeeper clusters
learn        doorkeeper learn
audit        doorkeeper audit
config       doorkeeper config; broker_check: the files of real brokers
examples     doorkeeper examples
completion   doorkeeper completion, and the completions of values

vocabulary   for both programs: the table of options, commands with headings, --output json,
             progress where stderr is a terminal
lazy         groups whose commands are imported when they are called
options      options of several commands
terminal     output, messages, the end of a command that fails
failures     errors that end a command, with a line for each problem
json_records the types of the JSON that commands print
inspection   what a command examined; the end of one that had nothing to examine
interrupts   Ctrl-C
files        files that are replaced as a whole
sample_files examples, JSON schemas and dashboards, as they are installed

repositories one interface for ACLs in a file, a store or a live cluster; addresses
stores       stores and backups by their addresses, opened for reading
single_user  the server of a stopped store, for one command
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from doorkeeper.base.garbage_collection import collection_paused
from doorkeeper.base.standard_streams import STDOUT, fill_standard_descriptors

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its status."""
    fill_standard_descriptors()
    serves = "serve" in (sys.argv[1:] if arguments is None else arguments)[:1]
    if serves:
        # A service manager may send SIGHUP at any time. Before the server has its own handler, the
        # default one would end the process.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        # A start allocates objects that stay: 77 collections for 600 dead objects would take a
        # tenth of its time. The server starts the collector.
        with collection_paused() if serves else nullcontext():
            from doorkeeper.cli.commands import doorkeeper

            doorkeeper.main(arguments, prog_name="doorkeeper")
    except SystemExit as end:
        if "doorkeeper.server.runtime.threads" in sys.modules:
            # A plug-in's thread that never ends must not keep the process alive.
            from doorkeeper.server.runtime.threads import leave_threads_behind

            leave_threads_behind(end.code)
        raise
    except KeyboardInterrupt:
        # Ctrl-C during an import: Root.invoke reports that of a running command.
        from doorkeeper.cli.interrupts import end_interrupted

        end_interrupted()
    except (ImportError, MemoryError, OSError, RuntimeError) as error:
        if _is_of_memory(error):
            from doorkeeper.cli.terminal import fail

            text = str(error) or "MemoryError"
            advice = "raise the limit of the process (ulimit -v) or of its cgroup"
            fail([f"not enough memory: {text}; {advice}"])
        if serves or not isinstance(error, OSError) or error.errno != errno.ENOSPC:
            raise
        from doorkeeper.cli.terminal import fail

        # Python flushes stdout at its exit, fails again, and would print a second message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
        fail([f"{error.filename or 'standard output'}: {error.strerror}"])


def _is_of_memory(error: Exception) -> bool:
    """Return whether memory, or room for a thread, is what the process lacks."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    # Python has no class for the last two: a thread, and the code of a library.
    texts = ("can't start new thread", "failed to map segment", "cannot allocate memory")
    return isinstance(error, MemoryError) or any(text in str(error).lower() for text in texts)
