"""Import every module of the installed packages, and say where they were found."""

import importlib
import pkgutil
import sys
from types import ModuleType

LEFT_OUT = ("__main__", "doorkeeper.testing.plugin")
"""The ends of names: what runs on import, and what only pytest imports, which need not be here."""


def modules_of(package: ModuleType) -> list[str]:
    """Return the names of all modules in a package, deep; those of ``LEFT_OUT`` left out."""
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [module.name for module in found if not module.name.endswith(LEFT_OUT)]


def main() -> None:
    """Import all of doorkeeper and doorkeeper_wire; a module that cannot be imported raises."""
    for name in ("doorkeeper", "doorkeeper_wire"):
        package = importlib.import_module(name)
        names = modules_of(package)
        for module in names:
            importlib.import_module(module)
        sys.stdout.write(f"imported {len(names) + 1} modules of {package.__file__}\n")


main()
