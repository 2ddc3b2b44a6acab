"""Kafka's command-line tools, in one long-lived JVM or as real processes.

``ToolRunner`` (Java, beside the suites) runs the tools' ``main`` again and again in one JVM: a
command then costs some tens of milliseconds instead of a JVM's start. ``scripts`` writes small
shell scripts with the names of Kafka's own, so that a documented command line runs as printed.
"""

import os
import pty
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testkit.java_lines import JAVA, JavaLines
from testkit.kafka_jars import Jars
from testkit.load import scaled

COMMAND_S = 60
"""No command of the suites takes longer, on a busy machine either."""

MAIN: Mapping[str, str] = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
}
MAIN_3_9: Mapping[str, str] = {
    **MAIN,
    "kafka-acls": "kafka.admin.AclCommand",
    "kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
}
MAIN_3_6: Mapping[str, str] = {
    **MAIN_3_9,
    "kafka-topics": "kafka.admin.TopicCommand",
    "kafka-consumer-groups": "kafka.admin.ConsumerGroupCommand",
    "kafka-get-offsets": "kafka.tools.GetOffsetShell",
    "kafka-leader-election": "kafka.admin.LeaderElectionCommand",
    "kafka-reassign-partitions": "kafka.admin.ReassignPartitionsCommand",
}
MAIN_2_8: Mapping[str, str] = {
    **MAIN_3_6,
    "kafka-cluster": "kafka.tools.ClusterTool",
    "kafka-features": "kafka.admin.FeatureCommand",
    "kafka-delegation-tokens": "kafka.admin.DelegationTokenCommand",
    "kafka-log-dirs": "kafka.admin.LogDirsCommand",
    "kafka-delete-records": "kafka.admin.DeleteRecordsCommand",
}
OLDER: Mapping[str, Mapping[str, str]] = {"3.9": MAIN_3_9, "3.6": MAIN_3_6, "2.8": MAIN_2_8}
"""The classes of releases whose tools were elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command left: its exit status and all it wrote."""

    status: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Both outputs, for a message that may stand in either."""
        return self.stdout + self.stderr


class CallFailed(Exception):
    """A call of the Java AdminClient failed; the text is ``<exception class>: <message>``."""


def main_class(version: str, tool: str) -> str:
    """Return the class behind a tool's script in one release."""
    return OLDER.get(version.rpartition(".")[0], MAIN)[tool]


class KafkaTools:
    """The tools of one release, in one JVM that starts with the first command."""

    def __init__(self, jars: Jars) -> None:
        self.jars = jars
        self._lines = JavaLines(jars, "ToolRunner")

    @property
    def version(self) -> str:
        """Kafka's release."""
        return self.jars.version

    def run(self, tool: str, *words: str) -> Done:
        """Run one command and return what it left; the JVM stays."""
        answer = self._lines.ask({"main": main_class(self.version, tool), "args": words})
        return Done(status=answer["status"], stdout=answer["stdout"], stderr=answer["stderr"])

    def call(self, name: str, config: Mapping[str, str], /, **parts: Any) -> Any:
        """Call Kafka's own AdminClient; ``AdminCalls.java`` lists the calls.

        Raises:
            CallFailed: the call completed with an exception.
        """
        answer = self._lines.ask({"call": name, "config": config, **parts})
        if answer["status"]:
            raise CallFailed(answer["error"])
        return answer["value"]

    def close(self) -> None:
        """End the JVM."""
        self._lines.close()


def command(jars: Jars, tool: str) -> list[str]:
    """Return the words that start a tool as a process of its own, before its arguments."""
    return [*JAVA, "-cp", jars.classpath, main_class(jars.version, tool)]


def run_process(jars: Jars, tool: str, *words: str) -> Done:
    """Run one command in a JVM of its own: the exit status is the real one."""
    done = subprocess.run(
        [*command(jars, tool), *words],
        capture_output=True,
        text=True,
        timeout=scaled(COMMAND_S),
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Done(status=done.returncode, stdout=done.stdout, stderr=done.stderr)


def run_on_terminal(
    words: Sequence[str], *, answers: Sequence[tuple[str, str]], folder: Path | None = None
) -> Done:
    """Run a command on a terminal, typing each answer once its question was shown.

    ``answers`` are pairs (text to wait for, line to type), in order.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder)
    os.close(theirs)
    overdue = threading.Timer(COMMAND_S, process.kill)
    overdue.start()
    shown = ""
    seen = 0
    waiting = list(answers)
    try:
        while piece := _read(ours):
            shown += piece
            if waiting and waiting[0][0] in shown[seen:]:
                os.write(ours, waiting.pop(0)[1].encode() + b"\n")
                seen = len(shown)
        status = process.wait()
    finally:
        overdue.cancel()
        process.kill()
        process.wait()
        os.close(ours)
    return Done(status=status, stdout=shown.replace("\r\n", "\n"), stderr="")


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 65536).decode()
    except OSError:  # Linux says EIO when the last writer has gone.
        return ""


def write_scripts(jars: Jars, folder: Path, *, plain: str, sasl: str) -> None:
    """Write ``kafka-acls.sh`` and its siblings into ``folder``.

    The documentation's commands name ``localhost:9092``. The scripts put a real address in its
    place: ``sasl`` for a command with ``--command-config``, else ``plain``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for tool in MAIN:
        script = folder / f"{tool}.sh"
        start = shlex.join(command(jars, tool))
        script.write_text(
            "#!/bin/bash\n"
            f"address={plain}\n"
            'case " $* " in *" --command-config "*) '
            f"address={sasl};; esac\n"
            f'exec {start} "${{@/#localhost:9092/$address}}"\n'
        )
        script.chmod(0o755)
