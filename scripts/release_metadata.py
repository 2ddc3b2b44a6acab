"""Metadata that depends on the address of the repository, for the build back end.

``DOORKEEPER_REPOSITORY=https://host/owner/name`` gives the package its links; public CI sets it.
Without an address there are no links, and README's relative links become plain text: they would
lead nowhere on a package index.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "DOORKEEPER_REPOSITORY"
# An image or a link of Markdown; package indexes show README without the files beside it.
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
# Package indexes draw no diagrams: they would show the source.
DIAGRAM = re.compile(r"^```mermaid\n.*?^```\n\n?", re.DOTALL | re.MULTILINE)


def with_absolute_links(text: str, repository: str, tag: str) -> str:
    """Return README with links into a tag of the repository; as plain text without a repository."""

    def absolute(found: re.Match[str]) -> str:
        image, label, target = found["image"], found["text"], found["target"]
        if "://" in target or target.startswith("#"):
            return found[0]
        if not repository:
            return "" if image else label
        kind = "raw" if image else "blob"
        return f"{image}[{label}]({repository}/{kind}/{tag}/{target})"

    return LINK.sub(absolute, DIAGRAM.sub("", text))


def project_urls(repository: str, tag: str) -> dict[str, str]:
    """Return the links of the project; none without a repository."""
    if not repository:
        return {}
    files = f"{repository}/blob/{tag}"
    return {
        "Documentation": f"{files}/docs/README.md",
        "Repository": repository,
        "Changelog": f"{files}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
        "Security": f"{files}/SECURITY.md",
    }


class ReleaseMetadata(MetadataHookInterface):
    """Fills ``readme`` and ``urls``, which ``pyproject.toml`` declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both fields; a source distribution has them in its PKG-INFO already.

        Raises:
            ValueError: the address is not one of https.

        """
        repository = os.environ.get(VARIABLE, "").rstrip("/")
        if repository and not re.fullmatch(r"https://[^\s()]+", repository):
            raise ValueError(
                f"{VARIABLE}={repository}: not an address like https://host/owner/name"
            )
        tag = f"v{metadata['version']}"
        if "readme" in metadata:
            # A source distribution without links stays so, whatever the address is here.
            metadata.setdefault("urls", {})
            return
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, repository, tag),
        }
        metadata["urls"] = project_urls(repository, tag)
