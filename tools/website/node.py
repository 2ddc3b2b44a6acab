"""What the site needs from npm and from the system, found or installed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from testkit.checkout import ROOT
from testkit.clients import run
from testkit.kafka_jars import Unavailable

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = ROOT / "tools" / "website" / "sphinx" / "node"


def program(*names: str) -> str:
    """Return the path of the first program that is there.

    Raises:
        Unavailable: none is.
    """
    for name in names:
        if (found := shutil.which(name)) is not None:
            return found
    raise Unavailable(f"{names[0]} is not installed; run sudo make setup-system")


def node_file(name: str) -> Path:
    """Return a file of the pinned npm packages, which are installed into .cache if need be.

    Raises:
        Unavailable: npm is missing, or failed.
    """
    folder = ROOT / ".cache" / "site"
    lock = folder / "package-lock.json"
    wanted = (SOURCE / lock.name).read_bytes()
    if not (lock.exists() and lock.read_bytes() == wanted and (folder / "node_modules").exists()):
        folder.mkdir(parents=True, exist_ok=True)
        for each in ("package.json", ".npmrc"):
            shutil.copy(SOURCE / each, folder / each)
        lock.write_bytes(wanted)
        run([program("npm"), "ci", "--ignore-scripts", "--prefix", str(folder)])
    return folder / "node_modules" / name
