"""The list of subcommands."""

from __future__ import annotations

import errno
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from doorkeeper.cli import main
from doorkeeper.cli.commands import doorkeeper
from testkit.command_tree import tree
from testkit.load import scaled


def test_help_of_each_command_has_examples_and_exit_statuses() -> None:
    """Of groups too; the list, the modules and the summaries agree."""
    for words, _ in tree(doorkeeper):
        result = CliRunner().invoke(doorkeeper, [*words, "-h"])

        assert result.exit_code == 0
        _, _, examples = result.output.partition("Examples:\n")
        assert len(re.findall(rf"\b{' '.join(('doorkeeper', *words))}\s", examples)) >= 2, words
        assert "Exit statuses: 0" in result.output, words


@pytest.mark.parametrize(
    "words",
    [
        ("store", "check", "store:{}"),
        ("store", "backup", "store:{}", "x"),
        ("history", "list", "store:{}"),
    ],
)
def test_path_that_cannot_be_looked_at_is_named(words: tuple[str, ...], tmp_path: Path) -> None:
    """As with a folder that is closed to this user: the question whether it exists fails."""
    path = tmp_path / ("a" * 300)

    result = CliRunner().invoke(doorkeeper, [word.format(path) for word in words])

    assert result.exit_code == 1
    assert re.search(rf"^doorkeeper: {path}\S*: File name too long$", result.output, re.MULTILINE)


def test_closed_standard_descriptors_are_replaced() -> None:
    code = (
        "import os\n"
        "from doorkeeper.cli import main\n"
        "try:\n"
        "    main(['store', 'backup', 'store:/none', 'x'])\n"
        "except SystemExit as end:\n"
        "    null = os.stat(os.devnull).st_rdev\n"
        "    os._exit(end.code + 10 * sum(os.fstat(n).st_rdev == null for n in range(3)))\n"
    )

    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code],
        check=False,
        timeout=scaled(60),
    )

    assert ended.returncode == 31


def test_ctrl_c_during_imports() -> None:
    code = (
        "import sys, types\n"
        "class Interrupted(types.ModuleType):\n"
        "    def __getattr__(self, name):\n"
        "        raise KeyboardInterrupt\n"
        "sys.modules['doorkeeper.cli.commands'] = Interrupted('doorkeeper.cli.commands')\n"
        "from doorkeeper.cli import main\n"
        "main(['acls', 'list'])\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )

    assert (ended.returncode, ended.stderr) == (130, "doorkeeper: interrupted\n")


def test_full_disk_is_reported_in_one_line(tmp_path: Path) -> None:
    rows = "".join(f"User:u{n},TOPIC,LITERAL,t{n},READ,ALLOW,*\n" for n in range(2000))
    header = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
    (tmp_path / "acls.csv").write_text(header + rows)
    line = [sys.executable, "-m", "doorkeeper", "acls", "export", "acls.csv"]

    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            line, cwd=tmp_path, check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )

    assert ended.returncode == 1
    assert ended.stderr == "doorkeeper: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (MemoryError(), "MemoryError"),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "[Errno 12] Cannot allocate memory"),
        (ImportError("x.so: failed to map segment from shared object"), "x.so: failed to map"),
    ],
)
@pytest.mark.parametrize("words", [["serve"], ["acls", "list"]])
def test_out_of_memory_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    text: str,
    words: list[str],
) -> None:
    def fails(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(doorkeeper, "main", fails)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    with pytest.raises(SystemExit) as end:
        main(words)

    assert end.value.code == 1
    assert capsys.readouterr().err.startswith(f"doorkeeper: not enough memory: {text}")
    error = RuntimeError("a fault")
    with pytest.raises(RuntimeError, match="a fault"):
        main(words)
