"""Command lines of kafka-acls.sh for both servers, in ``tests/interop/tools/kafka-acls.txt``."""

from testkit.tool_cases import FOLDER

LINES: tuple[str, ...] = tuple(
    line.replace("BOB", "--allow-principal User:bob")
    for line in (FOLDER / "kafka-acls.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
