"""Limits on network clients, each with the reason for its number.

``docs/reference/limits.md`` is generated from this table. Limits of the ACL engine are defined
there: they are Kafka's rules on requests, not on load.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from doorkeeper.base.key import Key
from doorkeeper.server.config.keys import (
    CONNECTIONS_MAX_IDLE_MS,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_IP,
    MAX_CONNECTIONS_PER_IP_OVERRIDES,
    SOCKET_LISTEN_BACKLOG_SIZE,
    SOCKET_REQUEST_MAX_BYTES,
    UPDATE_TIMEOUT_MS,
    UPDATE_WAITING_MAX,
)
from doorkeeper.server.config.sasl_keys import (
    CONNECTION_FAILED_AUTHENTICATION_DELAY_MS,
    SASL_SERVER_MAX_RECEIVE_SIZE,
)
from doorkeeper.server.config.settings import Settings


class Reason(Struct, frozen=True):
    """Why a limit has its number, and its key; None for a constant that only tests change."""

    key: Key[object] | None
    why: str


_reasons: list[Reason] = []


def _limit(value: object, why: str) -> Any:  # noqa: ANN401 - a field of any type
    """Declare a limit by its key or its number, and return its default."""
    key = value if isinstance(value, Key) else None
    _reasons.append(Reason(key, why))
    return value if key is None else key.default_value


class Limits(Struct, frozen=True, kw_only=True):
    """Limits; units are in the names. Their defaults are those of their keys."""

    frame_bytes_max: int = _limit(
        SOCKET_REQUEST_MAX_BYTES,
        "Kafka's default. A frame that claims more, or a negative size, closes its connection."
        " What is claimed is never allocated; only what has arrived is held.",
    )
    sasl_frame_bytes_max: int = _limit(
        SASL_SERVER_MAX_RECEIVE_SIZE,
        "Kafka's default, for every frame of a client that has not authenticated: it may hold"
        " this much memory and no more.",
    )
    elements_max: int = _limit(
        100_000,
        "Elements of all arrays of one request. Each may be ten bytes, and costs some hundred as"
        " an object and again in the answer: without a bound, ten megabytes of rows are a gigabyte"
        " and half a minute, even for clients without any permission. Kafka's own limits are"
        " 10,000 rows. A request with more closes its connection.",
    )
    sasl_elements_max: int = _limit(
        32,
        "The same before a client has authenticated. Its requests have no arrays, and tagged fields"
        " only for what a release of Kafka adds.",
    )
    connections_max: int = _limit(
        MAX_CONNECTIONS,
        "Kafka's default. At the limit nothing is accepted; peers wait in the backlog. Each"
        " listener may have its own, by `listener.name.<l>.max.connections`.",
    )
    connections_per_ip_max: int = _limit(
        MAX_CONNECTIONS_PER_IP,
        "Kafka's default. One more from the same address is accepted and closed at once.",
    )
    connections_per_ip_overrides: Mapping[str, int] = _limit(
        MAX_CONNECTIONS_PER_IP_OVERRIDES,
        "As above, for single addresses; 0 shuts an address out.",
    )
    idle_ms: int = _limit(
        CONNECTIONS_MAX_IDLE_MS,
        "Kafka's default. Without any traffic for this long a connection is closed, also during"
        " authentication and while an answer is pending: half-open peers end here. With -1 none is"
        " closed, as by a broker.",
    )
    failed_authentication_delay_ms: int = _limit(
        CONNECTION_FAILED_AUTHENTICATION_DELAY_MS,
        "Kafka's default. librdkafka tries a wrong password about 20 times a second without it.",
    )
    backlog: int = _limit(
        SOCKET_LISTEN_BACKLOG_SIZE,
        "Kafka's default: connections that the kernel keeps until they are accepted.",
    )
    update_timeout_ms: int = _limit(
        UPDATE_TIMEOUT_MS,
        "Half of the 60 s after which Java's admin client gives up: the client hears of error 7"
        " rather than nothing.",
    )
    decision_timeout_ms: int = _limit(
        5_000,
        "How long a request waits for an authorizer that must ask elsewhere (`DecisionPending`)."
        " Then the client gets an error that it retries: well within the 30 s after which clients"
        " give a request up, and several attempts fit into the time of an admin client's call.",
    )
    updates_waiting_max: int = _limit(
        UPDATE_WAITING_MAX,
        "Items of ACL changes that wait for the authorizer, over all connections: fifty of the"
        " largest requests that the standard authorizer takes, about 300 MB. Beyond it a change is"
        " refused with error 89 before the authorizer is asked, so that one that never completes"
        " does not fill the memory. A request alone is never refused: its frame bounds it.",
    )
    queued_in_bytes_max: int = _limit(
        268_435_456,
        "Bytes received and not yet answered, over all connections: two and a half frames of the"
        " largest size, or the unfinished 512 kB of five hundred unauthenticated clients. Beyond"
        " it the connection that holds most is closed, so that many half-sent frames never add up"
        " to the machine's memory.",
    )
    queued_out_bytes_max: int = _limit(
        268_435_456,
        "Answers that peers do not read, over all connections. A million ACLs make an answer of"
        " about 33 MB: eight clients may be slow with it at a time. Beyond it the connection that"
        " holds most is closed.",
    )
    frames_per_turn: int = _limit(
        64,
        "Pipelined requests of one connection that are answered before other connections are"
        " served: at 5 to 20 us each about a millisecond. One read of 256 kB may hold eight"
        " thousand.",
    )
    out_bytes_per_turn: int = _limit(
        1_048_576,
        "Bytes of answers after which that turn ends too, so that requests for long answers do not"
        " pile up before the first byte leaves.",
    )
    unauthenticated_percent: int = _limit(
        10,
        "Share of the event loop's time for all unauthenticated clients together, while"
        " authenticated clients are active: some thousand logins a second on a quiet machine."
        " Beyond it they wait, address by address in turn. With twice the share, the slowest"
        " hundredth of other clients' answers takes half as long again.",
    )
    repeated_bytes_max: int = _limit(
        2_048,
        "A request and its answer together, which a connection keeps to repeat the answer: ten"
        " thousand connections keep at most 20 MB. ApiVersions takes 600 bytes, Metadata without"
        " topics 70 and another 40 for each broker.",
    )
    repeated_bytes_max_of_all: int = _limit(
        16 * 2**20,
        "Longer requests and answers that all connections together keep to repeat them: Metadata of"
        " 1,000 topics takes 100 kB, with the request.",
    )
    sweeps_per_idle_time: int = _limit(
        20,
        "One timer for all connections checks this often in each idle time, and at least every 5"
        " s: a connection is closed at most 5 % late, and checking ten thousand takes a"
        " millisecond.",
    )
    accept_retry_ms: int = _limit(
        250,
        "How long accepting pauses when the process has no descriptor left. Peers wait in the"
        " backlog, and one that closes makes room.",
    )
    tls_handshakes_max: int = _limit(
        256,
        "TLS handshakes in progress at a time, on each listener. Each costs the loop a"
        " millisecond or two: half a second of work at most. The next peers wait in the backlog.",
    )
    tls_handshake_ms: int = _limit(
        10_000,
        "A handshake that takes longer fails: its client is connected and sends nothing. It takes"
        " two round trips.",
    )
    tls_handshake_overdue_ms: int = _limit(
        2_000,
        "At the limit of handshakes, the oldest one that has taken this long fails, so that"
        " silent clients shut out no others.",
    )
    tls_linger_ms: int = _limit(
        500,
        "How long a client whose handshake failed has to read the alert, while its input is"
        " discarded. It counts as a handshake in progress.",
    )
    tls_shutdown_ms: int = _limit(
        600_000,
        "How long answers may take to leave after the end of a TLS connection: as without TLS,"
        " where a connection without traffic is closed after the idle time. The server does not"
        " wait for the peer's close_notify.",
    )
    tls_read_ahead_bytes: int = _limit(
        65_536,
        "Bytes that may be received and not yet decrypted while a TLS connection is paused. They"
        " are not counted with the bytes that wait to be answered; a TLS record has 16 kB.",
    )


REASONS: Final = dict(zip(Limits.__struct_fields__, _reasons, strict=True))
"""The reasons by the field."""

SWEEP_INTERVAL_S_MAX: Final = 5.0
"""The longest interval of sweeps for idle connections."""


def limits_of(settings: Settings) -> Limits:
    values: dict[str, Any] = {
        name: settings[reason.key] for name, reason in REASONS.items() if reason.key is not None
    }
    return Limits(**values)
