"""The command lines of the project on the pages, and whether the programs know their words.

Pages whose commands run in the suite are listed with the test, the others with the reason.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

import click

from doorkeeper.cli.commands import doorkeeper
from doorkeeper_pipeline.cli.commands import pipeline
from testkit.checkout import ROOT
from testkit.page_commands import BLOCK, commands

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS: dict[str, click.Command] = {"doorkeeper": doorkeeper, "doorkeeper-pipeline": pipeline}
COMMAND = re.compile(
    r"^(?:\$ )?(?:[A-Z_]+=\S+ )?"
    r"((?:doorkeeper(?:-pipeline)?|kafka-[\w-]+\.sh|docker|make|pip|curl|openssl|spark-submit) "
    r"(?:.*\\\n)*.*)",
    re.MULTILINE,
)
# What a program says of files and profiles that only a reader of the page has.
OF_READERS = ("does not exist", "No such file", "profiles in")
FOLLOWED = {
    "how-to/remove-unused-grants.md": "tests/e2e/test_followed_pages.py",
    "reference/security.md": "tests/interop/test_followed_pages.py",
    "reference/configuration.md": "tests/interop/test_followed_pages.py",
    "how-to/operating.md": "tests/interop/test_followed_pages.py",
    "reference/operations-port.md": "tests/e2e/test_followed_pages.py",
    "reference/audit.md": "tests/e2e/test_followed_pages.py",
    "how-to/history.md": "tests/e2e/test_followed_pages.py",
    "how-to/learn.md": "tests/e2e/test_tutorial_page.py",
    "how-to/acl-sets.md": "tests/e2e/test_followed_pages.py",
    "how-to/pipeline.md": "tests/e2e/test_followed_pages.py",
    "reference/pipeline-answers.md": "tests/e2e/test_followed_pages.py",
    "reference/report.md": "tests/e2e/test_followed_pages.py",
    "how-to/acl-questions.md": "tests/e2e/test_acl_questions_page.py",
    "how-to/acls-in-ci.md": "tests/e2e/test_acl_files_pages.py",
    "how-to/frames.md": "tests/e2e/test_frames_page.py",
    "how-to/migrate-from-a-cluster.md": "tests/e2e/test_followed_pages.py",
    "how-to/monitor.md": "tests/e2e/test_followed_pages.py",
    "how-to/production.md": "tests/e2e/test_followed_pages.py",
    "how-to/topics-users-quotas.md": "tests/e2e/test_acl_files_pages.py",
    "how-to/prove-pii-readers.md": "tests/e2e/test_acl_questions_page.py",
    "how-to/review-acl-changes.md": "tests/e2e/test_acl_questions_page.py",
    "tutorials/acls-in-git.md": "tests/e2e/test_followed_pages.py",
    "tutorials/an-authorizer-of-your-own.md": "tests/e2e/test_followed_pages.py",
    "tutorials/clean-up-grants.md": "tests/e2e/test_followed_pages.py",
    "tutorials/first-acls.md": "tests/e2e/test_followed_pages.py",
    "tutorials/test-your-application.md": "tests/e2e/test_followed_pages.py",
    "tutorials/tutorial-least-privilege.md": "tests/e2e/test_tutorial_page.py",
}
"""The pages whose commands behind a prompt run in a test, which compares the outputs."""

NOT_FOLLOWED = {
    "how-to/docker.md": "needs a container engine; tests/interop/containers/test_compose_stack.py",
    "how-to/pipeline-clusters.md": "needs managed Spark, which is not to be had in the suite",
    "how-to/pipeline-nightly.md": "a nightly job; tests/unit/pipeline/test_schedulers.py",
    "reference/conformance.md": "the suites themselves",
    "how-to/install.md": "installs packages; scripts/try-wheel, tests/test_packaging.py",
    "how-to/develop.md": "needs podman; tests/interop/containers/test_compose_dev.py",
    "how-to/troubleshoot.md": "needs the error; tests/interop/test_troubleshoot_page.py",
}
"""The other pages with command lines: why their commands do not run as shown, and what does."""

WITHOUT_PROMPT = {
    "how-to/acl-questions.md": {
        "doorkeeper acls explain kafka://HOST:PORT": "a cluster of the reader",
        "doorkeeper acls explain examples/acls.csv": "changes in a file of the reader",
        "doorkeeper completion": "the reader's shell; tests/e2e/test_completion.py",
    },
    "how-to/frames.md": {"doorkeeper frames --response": "bytes of the reader"},
    "how-to/operating.md": {
        "doorkeeper store copy": "needs PostgreSQL; tests/unit/cli/store/test_moves.py",
        "doorkeeper store release": "asks; tests/e2e/test_releases.py",
    },
    "how-to/pipeline.md": {
        "kafka-acls.sh": "a cluster of the reader",
        "doorkeeper-pipeline run --audit '/var/log": "logs of the reader",
        "doorkeeper-pipeline run --audit kafka://": "tests/interop/test_pipeline_topics.py",
        "doorkeeper-pipeline run --master": "tests/interop/test_pipeline_cluster.py",
    },
    "how-to/production.md": {"doorkeeper store copy": "needs PostgreSQL"},
    "how-to/remove-unused-grants.md": {
        "kafka-acls.sh": "a cluster of the reader",
        "doorkeeper-pipeline run --audit '/logs": "logs of the reader",
    },
    "reference/security.md": {
        "": "run without outputs by test_users, test_scram, test_oauthbearer, test_tls_example and "
        "test_kerberos in tests/interop",
    },
    "tutorials/acls-in-git.md": {"doorkeeper": "a cluster of the reader, or the next server"},
}
"""Commands of followed pages without a prompt, by how they begin: why they do not run there."""

# Words of a shell after which another command, a file or a comment begins.
ENDS = {"|", ">", ">>", "<", "&&", "||", ";", "&", "#"}


class Line(NamedTuple):
    """A command line of a page."""

    page: str
    text: str


def lines() -> list[Line]:
    """Return the command lines in the code blocks of all pages but the decision records."""
    found = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path.parent.name != "decisions":
            found += [Line(_name(path), text) for text in _in_blocks(path.read_text("utf-8"))]
    return found


def without_prompt() -> list[Line]:
    """Return the command lines of followed pages that are not run, and have no reason for it."""
    return [
        line
        for line in lines()
        if line.page in FOLLOWED
        and not line.text.startswith(("make setup", *WITHOUT_PROMPT.get(line.page, ())))
        and not _is_run(line)
    ]


def _is_run(line: Line) -> bool:
    """Say whether a line stands behind a prompt, or is part of an output."""
    text = (ROOT / "docs" / line.page).read_text("utf-8")
    return any(line.text in part for command in commands(text) for part in command)


def words(text: str) -> list[str]:
    """Return the words of the first command of a line."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[str] = []
    for word in lexer:
        if word in ENDS or set(word) <= set("|<>&;"):
            # The 2 of "2>&1" is a word of its own here.
            return found[:-1] if word.startswith(">") and found[-1] == "2" else found
        found.append(word)
    return found


def fault(text: str) -> str | None:
    """Return what a program of ours says of a command line that it does not know."""
    name, *arguments = words(text)
    command, context = PROGRAMS.get(name), None
    try:
        while command is not None and "--help" not in arguments:
            context = command.make_context(command.name, list(arguments), parent=context)
            left = [*context._protected_args, *context.args]
            if not isinstance(command, click.Group) or not left:
                break
            _, command, arguments = command.resolve_command(context, left)
    except click.UsageError as error:
        said = error.format_message()
        return None if any(words in said for words in OF_READERS) else said
    return None


def _name(path: Path) -> str:
    return path.relative_to(ROOT / "docs").as_posix()


def _in_blocks(page: str) -> list[str]:
    found = []
    for block in BLOCK.finditer(page):
        body = block["body"] if block["fence"] else re.sub(r"(?m)^    ", "", block["indented"])
        found += COMMAND.findall(re.sub(f"(?m)^{block['indent'] or ''}", "", body))
    return found
