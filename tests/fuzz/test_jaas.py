"""JAAS texts that nobody would write, in a key and in a file."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from doorkeeper.config import jaas, jaas_file
from testkit.fuzzing import fuzz

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = (
    b"KafkaServer {\n a.B required k=\"v\" user_x='y';\n c.D optional;\n};\n",
    b'a.B required k="\\101\\"\\n" /* c */ k2=w // d\n;',
    b'A { b sufficient p="${user.home}${/}x${{y}}"; }; "B" { };',
)
MODULES = (
    "doorkeeper.config.jaas",
    "doorkeeper.config.jaas_file",
    "doorkeeper.config.jaas_tokens",
)
SECRET = "\x01hush\x01"


def entry(data: bytes) -> None:
    """Read a text as ``sasl.jaas.config``: modules, or an error that shows nothing of it."""
    with suppress(jaas.JaasError):
        modules = jaas.parse(data.decode("utf-8", "surrogateescape"))
        assert modules
        assert SECRET not in repr(modules)


def sections(data: bytes) -> None:
    """Read a text as a file: sections, or an error that shows nothing of it."""
    text = data.decode("utf-8", "replace")
    try:
        found = jaas_file.parse(text, {"/": "/", "user.home": SECRET})
    except jaas.JaasError as error:
        told = str(error)
    else:
        told = f"line {found!r}"
    assert told.startswith("line ")
    assert SECRET not in told


@pytest.mark.slow
@pytest.mark.parametrize("target", [entry, sections])
def test_any_text_is_read_or_refused(target: Callable[[bytes], None]) -> None:
    """Nothing but a JaasError comes out, and no repr or error holds a value."""
    fuzz(target, SEEDS, modules=MODULES)
