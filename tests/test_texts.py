"""The list of the product's texts, which ``tools/texts.py`` prints for a reader."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.runtime.metrics.table import METRICS
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from types import ModuleType

DECLARING = ("server/config", "server/runtime/metrics", "base/tls")
"""The folders with the declarations of metrics and keys."""

SOURCE = '''
HELD: Final = "a text of a constant"
PAIR = Struct(">hhi i B")

def told(found: str) -> None:
    """A docstring is not shown."""
    _LOG.info("reloaded", name="one word")
    cause = "a cause that is put in a variable"
    say(HELD)
    say("word")
    say("> h h i")
    raise ValueError(f"{found}: {cause}; expected: {1}")
'''


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("texts", ROOT / "tools" / "texts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_texts_of_a_module(tool: ModuleType) -> None:
    """Events of one word and texts in variables are printed, docstrings and formats are not."""
    assert sorted(text for _, text in tool.texts_in(SOURCE)) == [
        "a cause that is put in a variable",
        "a text of a constant",
        "one word",
        "reloaded",
        "{}: {}; expected: {}",
    ]


def test_all_metrics_and_keys_are_printed(tool: ModuleType) -> None:
    texts = {
        text
        for folder in DECLARING
        for path in (ROOT / "server" / "doorkeeper" / folder).rglob("*.py")
        for _, text in tool.texts_in(path.read_text("utf-8"))
    }
    missing = [metric.name for metric in METRICS if " ".join(metric.doc.split()) not in texts]
    missing += [name for name, key in KEYS.items() if " ".join(key.doc.split()) not in texts]
    assert not missing
