"""Import every module of the installed packages, and say where they were found.

python scripts/import_all.py              what needs no extra
python scripts/import_all.py --extras     what the extras bring too, but for Spark itself
"""

import importlib
import pkgutil
import sys
from types import ModuleType

LEFT_OUT = ("__main__", "doorkeeper.testing.plugin")
"""The ends of names: what runs on import, and what only pytest imports, which need not be here."""

OF_EXTRAS = ("doorkeeper.server.state.postgres",)
"""The beginnings of names that need an extra."""


def modules_of(package: ModuleType, left_out: tuple[str, ...]) -> list[str]:
    """Return the names of all modules in a package, deep; some left out by their beginnings."""
    # A package that needs an extra refuses to be imported; main() finds those that must not.
    found = pkgutil.walk_packages(
        package.__path__, package.__name__ + ".", onerror=lambda _name: None
    )
    return [
        module.name
        for module in found
        if not module.name.endswith(LEFT_OUT) and not module.name.startswith(left_out)
    ]


def main(*, extras: bool) -> None:
    """Import all; a module that cannot be imported raises."""
    left_out = () if extras else OF_EXTRAS
    for name in ("doorkeeper", "doorkeeper_wire", *(("doorkeeper_pipeline",) if extras else ())):
        package = importlib.import_module(name)
        names = modules_of(package, left_out)
        for module in names:
            importlib.import_module(module)
        sys.stdout.write(f"imported {len(names) + 1} modules of {package.__file__}\n")


main(extras="--extras" in sys.argv[1:])
