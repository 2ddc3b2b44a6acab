"""docs/tutorials/why-no-access.md prints the same with a real broker in the place of the server."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from doorkeeper.base.properties import read
from testkit.kafka_broker import KafkaBroker
from testkit.kafka_jars import jars
from testkit.kafka_target import USERS
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.page_commands import SERVER, Command, Reader, commands, comparable, page

if TYPE_CHECKING:
    from pathlib import Path

LOG_LINE = re.compile(r"(?ms)^```text\n(Principal = .*?)\n```$")
REQUEST = re.compile(r"Request Request\(.*?\) needs")
"""What an error has of the broker's objects: their numbers differ."""
SHOWN_S = 20
ADDED = re.compile(r"acls add .*--allow-principal (\S+)")
LIST = f"doorkeeper acls list --bootstrap-server {SERVER} --command-config admin.properties"


class BrokerReader(Reader):
    """A reader who starts a broker with the page's file, and Kafka's own keys beside it."""

    broker: KafkaBroker | None = None

    def _serve(self, line: str) -> None:
        broker = or_skip(
            lambda: KafkaBroker(jars("4.3.1"), users=USERS, overrides={}, audit_level="info")
        )
        values = broker._properties
        for entry in read(self.folder / "server.properties"):
            value = entry.value.replace("\\", "\\\\")
            if entry.key in ("listeners", "listener.security.protocol.map"):
                values[entry.key] += f",{value}"
            elif entry.key == "super.users":
                values[entry.key] = f"User:ANONYMOUS;{value}"
            else:
                is_file = entry.key.endswith(".location")
                values[entry.key] = str(self.folder / value) if is_file else value
        values["advertised.listeners"] += f",CLIENTS://{self.server}"
        self.broker = broker
        broker.start()

    def run(self, line: str) -> str:
        """Run a command; a broker shows a new ACL a little later."""
        text = super().run(line)
        if added := ADDED.search(line):
            deadline = time.monotonic() + scaled(SHOWN_S)
            while f"principal={added[1]}," not in super().run(LIST):
                assert time.monotonic() < deadline, text
        return text

    def stop(self) -> None:
        """Stop the broker."""
        if self.broker is not None:
            self.broker.stop()
            self.broker = None


def without_numbers(found: list[Command]) -> list[tuple[str, str]]:
    """Return commands and outputs without what differs from server to server."""
    return [(line, REQUEST.sub("Request ... needs", shown)) for line, shown in comparable(found)]


def test_page_output_is_correct(tmp_path: Path) -> None:
    text = page("why-no-access.md")
    folder = tmp_path / "page"
    folder.mkdir()

    with BrokerReader(folder, tmp_path / "bin", HOME=str(folder)) as reader:
        printed = reader.follow(text)
        assert reader.broker is not None
        logged = reader.broker.log.read_text("utf-8")

    assert without_numbers(printed) == without_numbers(commands(text))
    assert all(line in logged for line in LOG_LINE.findall(text))
