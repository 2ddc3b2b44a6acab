"""Fold the fragments of changelog.d/ into the section "Unreleased" of CHANGELOG.md.

Usage: python scripts/changelog.py [--write]

Without --write the section is printed, and nothing changes. With it the fragments are deleted; edit
the section then: merge what belongs together, and at a release give it the version as its title.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")
TITLE = "## Unreleased\n"


def fragments(folder: Path) -> dict[Path, str]:
    """Return the fragments by path; their kind is the suffix before ``.md``.

    Raises:
        ValueError: a file has no kind that there is.

    """
    found = {path: path.read_text("utf-8").strip() for path in sorted(folder.glob("*.md"))}
    found.pop(folder / "README.md", None)
    for path in found:
        if kind_of(path) not in KINDS:
            raise ValueError(f"{path.name}: not NAME.KIND.md with a KIND of {', '.join(KINDS)}")
    return found


def kind_of(path: Path) -> str:
    """Return the kind of a fragment: ``added`` of ``tls.added.md``."""
    return path.suffixes[-2][1:] if len(path.suffixes) > 1 else ""


def fold(changelog: str, entries: dict[Path, str]) -> str:
    """Return the changelog with the entries in its section Unreleased, which is made if missing."""
    head, title, rest = changelog.partition(TITLE)
    if not title:
        first = re.search(r"^## ", changelog, re.MULTILINE)
        place = first.start() if first else len(changelog)
        head, rest = changelog[:place], changelog[place:]
    end = re.search(r"^## ", rest, re.MULTILINE)
    section, tail = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    kinds = dict(re.findall(r"^### (\w+)\n+((?:(?!### ).*\n?)*)", section, re.MULTILINE))
    for path, text in entries.items():
        # A fragment is a paragraph, or a list already.
        item = text if text.startswith("- ") else "- " + text.replace("\n", "\n  ")
        # Links of a fragment are relative to its folder.
        item = item.replace("](../", "](")
        name = kind_of(path).capitalize()
        kinds[name] = f"{kinds.get(name, '').rstrip()}\n{item}\n".lstrip()
    order = [kind.capitalize() for kind in KINDS if kind.capitalize() in kinds]
    body = "".join(f"\n### {name}\n{kinds[name].rstrip()}\n" for name in order)
    return f"{head.rstrip()}\n\n{TITLE}{body}\n{tail}".rstrip() + "\n"


def main(root: Path, *, write: bool) -> None:
    """Print the changelog's new section, or write it and delete the fragments."""
    changelog = root / "CHANGELOG.md"
    try:
        entries = fragments(root / "changelog.d")
    except ValueError as error:
        sys.exit(f"changelog: {error}")
    if not entries:
        sys.stdout.write("changelog: no fragments\n")
        return
    text = fold(changelog.read_text("utf-8"), entries)
    if not write:
        sys.stdout.write(TITLE + text.partition(TITLE)[2].partition("\n## ")[0] + "\n")
        return
    changelog.write_text(text, "utf-8")
    for path in entries:
        path.unlink()
    sys.stdout.write(f"changelog: {len(entries)} fragments are in CHANGELOG.md now\n")


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[1], write="--write" in sys.argv[1:])
