"""What importing the wire brings in."""

import subprocess
import sys


def test_codec_requires_only_msgspec() -> None:
    """Messages, headers and frames load this package, msgspec and Python's own modules."""
    program = (
        "import sys; before = set(sys.modules);"
        "import doorkeeper_wire.framing, doorkeeper_wire.consumer_protocol, pkgutil, importlib;"
        "import doorkeeper_wire.messages as messages;"
        "[importlib.import_module(f'{messages.__name__}.{found.name}')"
        " for found in pkgutil.iter_modules(messages.__path__)];"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(roots - set(sys.stdlib_module_names) - {'typing_extensions'}))"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "['doorkeeper_wire', 'msgspec']"
