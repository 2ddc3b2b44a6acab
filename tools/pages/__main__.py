"""Write the generated files that are committed, or check that they are current.

PYTHONPATH=tools:tests python -m pages [--check]
"""

from __future__ import annotations

import sys

from pages import configuration, dashboard


def main(*, check: bool) -> int:
    """Return 1 if a file is not current and only checked."""
    stale = 0
    for generator in (configuration, dashboard):
        for path, text in generator.pages().items():
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
