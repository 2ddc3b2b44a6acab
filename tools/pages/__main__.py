"""Write the generated pages of docs/, or check that they are current.

PYTHONPATH=tools:tests python -m pages [--check]
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

MODULES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_")
)


def main(*, check: bool) -> int:
    """Return 1 if a page is not current and only checked."""
    stale = 0
    for name in MODULES:
        pages: dict[Path, str] = importlib.import_module(f"pages.{name}").pages()
        for path, text in pages.items():
            if path.read_text(encoding="utf-8") == text:
                continue
            if check:
                stale = 1
                print(f"pages: {path} is not current: make generate", file=sys.stderr)
            else:
                path.write_text(text, encoding="utf-8")
                print(f"pages: {path}")
    return stale


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
