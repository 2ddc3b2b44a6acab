"""The programs that call all that an administrator's client offers, each by its command."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from testkit.clients import CLIENTS, DRIVERS, ENVIRONMENTS, Client, run
from testkit.java_lines import JAVA
from testkit.kafka_jars import PROJECT, Unavailable, client_jars, program_jars

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ADMIN = PROJECT / "tests" / "interop" / "kafka_admin"
SPRING = PROJECT / "tests" / "interop" / "spring_kafka"


def _java_admin() -> Sequence[str]:
    return [*JAVA, "-cp", client_jars("4.4.0", ADMIN).classpath, "AdminMethods"]


def _spring() -> Sequence[str]:
    return [*JAVA, "-cp", program_jars(SPRING).classpath, "SpringAdmin"]


PLATFORMATIC = Client(name="platformatic", driver="platformatic/calls.js")


def _of_a_library(client: str, program: str) -> Callable[[], Sequence[str]]:
    """Return the command of a program in the environment of one of the client libraries."""
    (found,) = (each for each in (*CLIENTS, PLATFORMATIC) if each.name == client)
    return lambda: found.command(DRIVERS / program)


def go_program(program: str, *words: str) -> Callable[[], Sequence[str]]:
    """Return the command of a program in Go, which is built from the module of all of them."""

    def command() -> Sequence[str]:
        if shutil.which("go") is None:
            raise Unavailable("go is not installed")
        built = ENVIRONMENTS / "go" / program
        built.parent.mkdir(parents=True, exist_ok=True)
        # With the machine's own Go, and nothing but what go.sum names.
        words_of_build = ("go", "build", "-mod=readonly", "-o", str(built), f"./{program}")
        run(words_of_build, cwd=DRIVERS / "go", env={**os.environ, "GOTOOLCHAIN": "local"})
        return [str(built), *words]

    return command


PROGRAMS: Mapping[str, Callable[[], Sequence[str]]] = {
    "java-admin": _java_admin,
    "kafka-python": _of_a_library("kafka-python-3", "kafka_python_3_calls.py"),
    "spring": _spring,
    "kafkajs": _of_a_library("kafkajs", "kafkajs/calls.js"),
    "platformatic": _of_a_library("platformatic", "platformatic/calls.js"),
    "confluent-kafka": _of_a_library("confluent-kafka", "confluent_kafka_calls.py"),
    "sarama": go_program("sarama", "4.3.1"),
    "sarama-default": go_program("sarama", "2.8.0"),
    "kadm": go_program("kadm"),
    "kafka-go": go_program("kafka-go"),
}
"""Each may raise ``Unavailable``, or ``WrongPython``."""
