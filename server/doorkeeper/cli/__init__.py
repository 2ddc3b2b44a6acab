"""The command ``doorkeeper``.

commands     the list of subcommands; each module is imported when it is called
serve        doorkeeper serve
acls         doorkeeper acls add | remove | list
acl_options  its options: those of kafka-acls.sh; acl_targets says whose ACLs, acl_printing prints
acl_sets     doorkeeper acls export | import | diff | plan | apply; acl_places is where sets are,
             acl_plans a plan as text, acl_applying carries it out
acl_questions, acl_lint
             doorkeeper acls explain | who-can | what-can | lint; acl_sources is where the ACLs come
             from, acl_question_options what is asked, acl_explanations and acl_texts the words
completion   doorkeeper completion; completing is what words may become
lazy         groups whose commands are imported when they are called
terminal     colours, and texts that move no cursor
store        doorkeeper store backup | restore; store_moves: migrate | check | copy
audit        doorkeeper audit verify | tail
config       doorkeeper config check | show | reset
frames       doorkeeper frames; frame_printing prints what the dissector finds
users        doorkeeper users add | set-password | delete | list; wire_users are those of a server
users_file   doorkeeper users-file set | delete | list
live         a client for one command
options, passwords, progress, files
             options of several commands, how a password is asked for, how far a long work is, files
             that are written whole or not at all
failures, interrupts
             how a command that cannot go on says so, and one that Ctrl-C has ended
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from doorkeeper.runtime.garbage_collection import collection_paused

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

STDIN = 0
STDOUT = 1
STDERR = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its status."""
    _fill_standard_descriptors()
    serves = "serve" in (sys.argv[1:] if arguments is None else arguments)[:1]
    if serves:
        # Until the server takes it, the signal must not end the process: a service manager may
        # send it at any time.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        # What a start imports and loads stays: looking through it again and again, 77 times, for
        # 600 dead objects would be a tenth of the start. The collector begins when the server does.
        with collection_paused() if serves else nullcontext():
            from doorkeeper.cli.commands import doorkeeper  # noqa: PLC0415  not for importing main

            doorkeeper.main(arguments, prog_name="doorkeeper")
    except SystemExit as end:
        if "doorkeeper.runtime.threads" in sys.modules:
            from doorkeeper.runtime.threads import leave_threads_behind  # noqa: PLC0415  imported then

            leave_threads_behind(end.code)
        raise
    except KeyboardInterrupt:
        # While modules are imported; a command that runs says so itself.
        from doorkeeper.cli.interrupts import end_interrupted  # noqa: PLC0415  as above

        end_interrupted()
    except OSError as error:
        if serves or error.errno != errno.ENOSPC:
            raise
        from doorkeeper.cli.terminal import fail  # noqa: PLC0415  as above

        # What is still to be written has no place either, and Python would say so once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
        fail([f"{error.filename or 'standard output'}: {error.strerror}"])


def _fill_standard_descriptors() -> None:
    """Put the null device where a parent closed stdin, stdout or stderr.

    Otherwise the next files that are opened take their numbers, and log lines go to sockets and
    stores.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(opened)
    # Python leaves None in the place of a stream that was closed.
    sys.stdin = sys.stdin or os.fdopen(STDIN)
    sys.stdout = sys.stdout or os.fdopen(STDOUT, "w")
    sys.stderr = sys.stderr or os.fdopen(STDERR, "w")
