"""A line for each request that is answered, under the name of Kafka's request log.

Off unless ``doorkeeper.log.levels`` gives the logger ``kafka.request.logger`` the level DEBUG, as
a broker's log4j file does; it may be turned on and off while the server runs. The correlation id
and the client id lead from an event of the audit log to its line here.

Source: ``RequestChannel.updateRequestMetrics``, whose line is a JSON of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from doorkeeper.connection.responses import ITEMS
from doorkeeper.errors import ErrorCode
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from doorkeeper.api.node import Response
    from doorkeeper.connection.connection import Connection
    from doorkeeper.connection.exchange import CompletedRequest

LOGGER_NAME: Final = "kafka.request.logger"
DEBUG: Final = 10

_NAMES: Final = {int(code): code.name for code in ErrorCode}


class Threshold(Protocol):
    """The lowest level that a logger writes."""

    level: int


class LeveledLogger(Protocol):
    """A structured log with a threshold."""

    @property
    def threshold(self) -> Threshold:
        """Return the lowest level that is written: one object, whose ``level`` may change."""
        ...

    def debug(self, event: str, **fields: object) -> object:
        """Log a request."""
        ...


class RequestLog:
    """Logs requests. For the loop's thread."""

    def __init__(self, logger: LeveledLogger) -> None:
        """Write to this logger, while its level is DEBUG."""
        self._logger = logger
        self.threshold = logger.threshold
        """Its ``level`` says whether requests are logged: each request reads it."""

    def completed(
        self, connection: Connection, request: CompletedRequest, local_s: float, remote_s: float
    ) -> None:
        """Log a request and its answer.

        ``remote_s`` is how long it waited for authorizer, store and audit log; sizes are
        those of frames, without the four bytes that say the size.
        """
        header, peer = request.header, connection.peer
        self._logger.debug(
            "completed request",
            api=API_NAMES.get(header.api_key, str(header.api_key)),
            api_key=header.api_key,
            version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id or "",
            client_software=request.client_software,
            principal=str(connection.session.principal),
            connection=peer.connection_id,
            host=peer.host,
            listener=peer.listener_name,
            security_protocol=peer.security_protocol,
            request_bytes=request.request_bytes,
            response_bytes=request.response_bytes,
            local_ms=round(local_s * 1000, 3),
            remote_ms=round(remote_s * 1000, 3),
            total_ms=round((local_s + remote_s) * 1000, 3),
            errors=", ".join(error_names(request.response)),
        )


def error_names(response: Response) -> list[str]:
    """Return the errors of an answer and of its items, each once, in order."""
    codes = [getattr(response, "error_code", 0)]
    items_of = ITEMS.get(response.__class__)
    if items_of is not None:
        codes += [item.error_code for item in items_of(response) or ()]
    return [_NAMES.get(code, str(code)) for code in dict.fromkeys(codes) if code]
