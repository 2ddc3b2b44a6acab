"""The command: writes the generated files, or says which of them are stale.

    python -m doorkeeper_schemas            writes what differs
    python -m doorkeeper_schemas --check    exits with 1 and names the stale files

The source is formatted by ruff, as all source here.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from doorkeeper_schemas.apis import apis_source, check_messages, read_apis
from doorkeeper_schemas.events import events_source
from doorkeeper_schemas.modules import messages_source
from doorkeeper_schemas.operations import operations_source
from doorkeeper_schemas.records import read_events
from doorkeeper_schemas.states import declared_state_source, read_states
from doorkeeper_wire.declared.schema_file import SchemaError, read_module

ROOT = Path(__file__).parents[2]
_WIRE = ROOT / "protocol" / "doorkeeper_wire"


def generated(root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield each generated file and its source, formatted.

    Raises:
        SchemaError: when a schema is not as it must be.
    """
    modules = [read_module(path) for path in sorted((root / "schemas/messages").glob("*.yaml"))]
    apis = read_apis(root / "schemas/apis.yaml")
    check_messages(root / "schemas/apis.yaml", apis, modules)
    # The others are read and written by their trees.
    for module in (each for each in modules if each.meaning):
        yield _file(_WIRE / "messages" / f"{module.name}.py", messages_source(module))
    yield _file(_WIRE / "api_keys.py", apis_source(apis))
    yield _file(ROOT / "server/doorkeeper/server/api/operations.py", operations_source(apis))
    declared = declared_state_source(read_states(root / "schemas/state"))
    yield _file(ROOT / "server/doorkeeper/server/schema/declared.py", declared)
    event = "schemas/records/audit_event.json"
    events = events_source(read_events(root / event), event)
    yield _file(ROOT / "server/doorkeeper/server/operations/audit/events.py", events)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m doorkeeper_schemas", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; name what is stale")
    check = parser.parse_args(arguments).check
    try:
        files = list(generated())
    except SchemaError as error:
        print(error, file=sys.stderr)
        return 1
    stale = [(path, source) for path, source in files if _current(path) != source]
    for path, source in stale:
        print(f"{'stale, make generate' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(source, encoding="utf-8")
    return 1 if check and stale else 0


def _file(path: Path, source: str) -> tuple[Path, str]:
    """Return the file with its source formatted."""
    for command in (["check", "--select=I,RUF022", "--fix", "--quiet"], ["format"]):
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"],
            input=source,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        if done.returncode:
            raise SchemaError(f"{path}: {done.stderr.strip()}")
        source = done.stdout
    return path, source


def _current(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
