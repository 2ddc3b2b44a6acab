r"""An authorizer that wraps another one and writes down every decision: a line of JSON for each.

Try it, in the project's folder:

    PYTHONPATH=examples/authorizers python -m doorkeeper serve \
        --override authorizer.class.name=recorder.Recorder \
        --override recorder.file=decisions.jsonl

    kafka-acls.sh --bootstrap-server localhost:9092 --list; cat decisions.jsonl

    recorder.wraps   any value that authorizer.class.name takes (Kafka's StandardAuthorizer)
    recorder.file    where the lines go
"""

from __future__ import annotations

import json
import queue
import threading
from typing import TYPE_CHECKING

from doorkeeper.plugins import Authorizer, KeepsInStore, authorizer_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TextIO

    from doorkeeper.plugins import (
        AclBinding,
        AclBindingFilter,
        AclCreateResult,
        AclDeleteResult,
        Action,
        AuthorizableRequestContext,
        AuthorizationResult,
        AuthorizerServerInfo,
        Changes,
        Endpoint,
        Eventually,
    )

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

LINES_MAX = 100_000
"""How many lines may wait for the disk; more are counted and lost, because nobody may wait."""


class Recorder(Authorizer):
    """Decides nothing by itself."""

    def __init__(self) -> None:
        """Begin without what is wrapped: the configuration names it."""
        self._log: Any = None
        self._inner: Authorizer | None = None
        self._lines: queue.Queue[str | None] = queue.Queue(LINES_MAX)
        self._file: TextIO | None = None
        self._writer: threading.Thread | None = None
        self.lost = 0

    def attach(self, log: object) -> None:
        """Take the log of the server's state for the authorizer that is wrapped."""
        self._log = log

    def configure(self, configs: Mapping[str, str]) -> None:
        """Make and configure what is wrapped, and open the file."""
        try:
            wrapped = authorizer_class(configs.get("recorder.wraps", STANDARD))
        except ValueError as error:
            raise ValueError(f"recorder.wraps: {error}") from error
        if wrapped is None:
            raise ValueError("recorder.wraps: found nothing; allowed: an authorizer")
        self._inner = wrapped()
        if isinstance(self._inner, KeepsInStore):
            self._inner.attach(self._log)
        self._inner.configure(configs)
        name = configs.get("recorder.file", "decisions.jsonl")
        try:
            self._file = open(name, "a", encoding="utf-8", buffering=1)  # noqa: PTH123, SIM115  kept
        except OSError as error:
            raise ValueError(f"recorder.file: {error}") from error
        self._writer = threading.Thread(target=self._write, name="recorder")

    @property
    def inner(self) -> Authorizer:
        """Return what is wrapped."""
        assert self._inner is not None, "configured first"
        return self._inner

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Eventually[None]]:
        """Start both; listeners wait for what is wrapped."""
        assert self._writer is not None, "configured first"
        self._writer.start()
        return self.inner.start(server_info)

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Let the other one decide, and hand the lines to the thread that writes."""
        results = self.inner.authorize(context, actions)
        for action, result in zip(actions, results, strict=True):
            line = {
                "principal": str(context.principal),
                "host": context.client_address,
                "operation": action.operation.name,
                "type": action.resource.resource_type.name,
                "name": action.resource.name,
                "result": result.name,
            }
            try:
                self._lines.put_nowait(json.dumps(line))
            except queue.Full:
                self.lost += 1
        return results

    def _write(self) -> None:
        assert self._file is not None, "configured first"
        while (line := self._lines.get()) is not None:
            self._file.write(f"{line}\n")

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Changes[AclCreateResult]:
        """Pass it on."""
        return self.inner.create_acls(context, bindings)

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> Changes[AclDeleteResult]:
        """Pass it on."""
        return self.inner.delete_acls(context, filters)

    def acls(self, wanted: AclBindingFilter) -> Iterable[AclBinding]:
        """Pass it on."""
        return self.inner.acls(wanted)

    def acl_count(self) -> int:
        """Pass it on."""
        return self.inner.acl_count()

    def close(self) -> None:
        """Close what is wrapped; write what is left."""
        if self._inner is not None:
            self._inner.close()
        if self._writer is not None and self._writer.ident is not None:
            self._lines.put(None)
            self._writer.join()
        if self._file is not None:
            self._file.close()
