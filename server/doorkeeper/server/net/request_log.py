"""The request log: a line for each answered request, under the name of Kafka's log.

Off unless ``doorkeeper.log.levels`` sets the logger ``kafka.request.logger`` to DEBUG, as in a
broker's log4j file; the level may change at run time. The correlation id and the client id lead
from an event of the audit log to its line here.

Source: ``RequestChannel.updateRequestMetrics``, whose line is a JSON of its own.
"""

from __future__ import annotations

from typing import Final, Protocol

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.node import Response
from doorkeeper.server.authorizer.contract import Threshold
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import CompletedRequest
from doorkeeper.server.net.protocol.responses import items_of
from doorkeeper_wire.api_keys import API_NAMES

LOGGER_NAME: Final = "kafka.request.logger"
DEBUG: Final = 10

_NAMES: Final = {int(code): code.name for code in ErrorCode}


class RequestLogger(Protocol):
    """A structured logger with a threshold, whose ``level`` channels read for each request."""

    @property
    def threshold(self) -> Threshold:
        """Return the lowest level that is written: one object, whose ``level`` may change."""
        ...

    def debug(self, event: str, **fields: object) -> object: ...


def log_request(
    log: RequestLogger,
    connection: Connection,
    request: CompletedRequest,
    local_s: float,
    remote_s: float,
) -> None:
    """Log a request and its answer.

    ``remote_s`` is the time of the wait (``runtime.metrics.meters.Waited``). Sizes are those of
    frames, without the four bytes of the size prefix.
    """
    header, peer = request.header, connection.peer
    log.debug(
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
    """Return the distinct errors of a response and of its items, in order."""
    # Some responses have an error of their own, some one for each item, some both.
    codes = [getattr(response, "error_code", 0)]
    codes += [item.error_code for item in items_of(response)]
    return [_NAMES.get(code, str(code)) for code in dict.fromkeys(codes) if code]
