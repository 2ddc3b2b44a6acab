"""A Java program of ours that stays: each line it is given is answered by one line, both JSON."""

import json
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

from testkit.kafka_jars import Jars
from testkit.load import scaled

ANSWER_S = 60
"""No answer of the suites takes longer, on a busy machine either."""

JAVA = (
    "java",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx256m",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)


CALLS_S = 240


def client_calls(jars: Jars, address: str, name: str) -> dict[str, str]:
    """Return what Kafka's Java clients print of their calls (``ClientCalls.java``)."""
    done = subprocess.run(
        [*JAVA, "-cp", jars.classpath, "ClientCalls", address, name],
        capture_output=True,
        text=True,
        timeout=scaled(CALLS_S),
        check=False,
    )
    printed = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert printed.pop("acls", done.stderr).startswith("[(pattern=ResourcePattern(")
    return printed


class JavaLines:
    """One JVM that runs the program; it starts with the first question."""

    def __init__(self, jars: Jars, program: str, options: Sequence[str] = ()) -> None:
        self._command = [*JAVA, *options, "-cp", jars.classpath, program]
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: Any) -> Any:
        """Return the answer to a question.

        Raises:
            TimeoutError: the JVM ended, or is silent for a minute.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        overdue = threading.Timer(ANSWER_S, process.kill)
        overdue.start()
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        finally:
            overdue.cancel()
        if not line:
            self.close()
            shown = str(question)[:1000]
            raise TimeoutError(f"the JVM ended, or gave no response within {ANSWER_S} s: {shown}")
        return json.loads(line)

    def close(self) -> None:
        """End the JVM."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        return self._process
