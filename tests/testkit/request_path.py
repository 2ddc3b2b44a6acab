"""The path of a request: the functions of the server that are entered while it is answered."""

from __future__ import annotations

import os
from multiprocessing.connection import Client
from typing import TYPE_CHECKING, Any, NamedTuple

from testkit.checkout import ROOT
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.frames import FrameClient
from testkit.kafka_broker import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from testkit.frame_steps import Step

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class RequestPath(NamedTuple):
    """Distinct functions, as pairs of module and qualified name, in the order of first calls."""

    functions: tuple[tuple[str, str], ...]

    @property
    def modules(self) -> tuple[str, ...]:
        """The distinct modules, in the order in which they are entered."""
        return tuple(dict.fromkeys(module for module, _ in self.functions))


class RecordedServer(DoorkeeperServer):
    """A server with an embedded store and a profile hook; its clients are User:ANONYMOUS."""

    def __init__(self, super_users: str = "User:ANONYMOUS", *, is_audited: bool = False) -> None:
        port = free_port()
        properties = {
            "listeners": f"PLAINTEXT://localhost:{port}",
            "authorizer.class.name": STANDARD,
            "super.users": super_users,
        }
        if is_audited:
            properties["doorkeeper.audit.dir"] = "audit"
        paths = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
        super().__init__(
            properties,
            ports=(port,),
            environment={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        self.address = f"localhost:{port}"
        self._socket = str(self.folder / "recorder")
        self._command[1:3] = ["-m", "testkit.call_recorder", self._socket]

    def path_of(self, steps: Sequence[Step]) -> tuple[RequestPath, list[Any]]:
        """Send similar requests on one connection; return the path of all but the first.

        Functions that only some of them enter are left out: timers call them, and the garbage
        collector. The responses to the requests are returned too.
        """
        recordings: list[list[tuple[str, str]]] = []
        responses = []
        with FrameClient(self.address) as client, Client(self._socket, "AF_UNIX") as recorder:
            for step in steps:
                recorder.send(True)
                recorder.recv()
                responses.append(client.ask(step.request, step.response, step.version))
                recorder.send(False)
                recordings.append(recorder.recv())
        _, second, *others = recordings
        common = set(second).intersection(*others)
        return RequestPath(tuple(each for each in second if each in common)), responses
