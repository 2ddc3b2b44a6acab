r"""Coverage-guided fuzzing (atheris) of a function of a test file, in a process of its own.

A target is a function of a test file's top level that takes bytes and raises nothing:

    def sections(data: bytes) -> None:
        with suppress(JaasError):
            parse(data.decode("utf-8", "replace"), {})

    @pytest.mark.slow
    def test_sections() -> None:
        fuzz(sections, [b"A { b.C required; };"], modules=["doorkeeper.server.config.jaas_file"])

``modules`` are those whose branches lead the fuzzer. To search for longer, by hand, with a folder
that keeps what was found:

    PYTHONPATH=tests .venv/bin/python -m testkit.fuzzing tests/fuzz/test_rules.py sections \
        doorkeeper.server.config.jaas_file -- -max_total_time=600 corpus/
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

RUNS: Final = 100_000
SECONDS: Final = 40
INPUT_BYTES_MAX: Final = 4096
TRIED_MIN: Final = 100
_DONE = re.compile(r"^#(\d+)\s+DONE", re.MULTILINE)
_STARTED_S = 60


def fuzz(
    target: Callable[[bytes], None],
    seeds: Iterable[bytes],
    *,
    modules: Sequence[str],
    runs: int = RUNS,
    seconds: int = SECONDS,
) -> int:
    """Try so many inputs, or for so long; return how many were tried.

    Fails with the input and the traceback where the target raises, takes seconds over one input,
    or much memory.
    """
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed: make interop installs it")
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for number, seed in enumerate(seeds):
            (corpus / str(number)).write_bytes(seed)
        options = [f"-runs={runs}", f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES_MAX}"]
        limits = ["-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={folder}/"]
        file = target.__code__.co_filename
        command = [sys.executable, "-m", "testkit.fuzzing", file, target.__name__, *modules]
        done = subprocess.run(
            [*command, "--", *options, *limits, "-seed=1", str(corpus)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + _STARTED_S,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        found = [path.read_bytes() for path in Path(folder).iterdir() if path.is_file()]
    tried = _DONE.search(done.stderr)
    if found or done.returncode != 0 or tried is None:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        pytest.fail(f"{target.__name__} fails for {found!r}:\n{tail}")
    count = int(tried[1])
    assert count > TRIED_MIN, "the fuzzer has hardly run"
    return count


def main(arguments: Sequence[str]) -> None:
    """Fuzz ``file function module... -- option...``; does not return."""
    import atheris

    split = list(arguments).index("--")
    file, name, *modules = arguments[:split]
    with atheris.instrument_imports(include=modules):
        for module in modules:
            importlib.import_module(module)
    spec = importlib.util.spec_from_file_location("fuzzed", file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    atheris.Setup([file, *arguments[split + 1 :]], getattr(loaded, name))
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
