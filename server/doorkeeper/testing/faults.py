"""Fault injection: a delay, an error, a lost connection, a refused login.

    with server.faults.error("DescribeAcls", "CLUSTER_AUTHORIZATION_FAILED"):
        ...
    with server.faults.drop("CreateAcls", after=True, times=1) as fault:
        ...
    assert fault.struck == 1

A fault is active within its block, for open connections too.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from enum import Enum
from typing import Final, Self

from msgspec import Struct

from doorkeeper.acls.formats.names import suggestion
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import registry
from doorkeeper.server.app.data_path import data_path_keys
from doorkeeper_wire.api_keys import API_NAMES

_LOGIN_APIS: Final = ("SaslHandshake", "SaslAuthenticate")


class FaultKind(Enum):
    """Kinds of faults."""

    DELAY = "delay"
    ERROR = "error"
    DROP_BEFORE = "drop the connection instead of handling the request"
    DROP_AFTER = "drop the connection instead of answering"
    REFUSE_LOGIN = "refuse a login"


class FaultSpec(Struct, frozen=True):
    """What a fault does; ``subject`` is the key of an API, or the name of a user."""

    kind: FaultKind
    subject: int | str
    times: int | None
    delay_s: float = 0
    error: tuple[ErrorCode, str | None] | None = None


class Fault:
    """One fault, active within its ``with`` block."""

    __slots__ = ("_all", "count", "spec")

    def __init__(self, among: FaultControl, spec: FaultSpec, count: int = 0) -> None:
        """``count`` is the number of strikes when it was last updated."""
        self._all = among
        self.spec = spec
        self.count = count

    def __enter__(self) -> Self:
        self._all.begin(self)
        return self

    def __exit__(self, *_exception: object) -> None:
        self._all.end(self)

    @property
    def struck(self) -> int:
        """Return the present number of strikes."""
        self._all.look(self)
        return self.count


class FaultControl(ABC):
    """The faults of one server, in this process or another. Tests begin and end them."""

    def delay(self, api: str, *, ms: float, times: int | None = None) -> Fault:
        """Delay the handling of an API's requests; ``times`` limits their number."""
        if ms < 0:
            raise ValueError(f"ms: found {ms}; allowed: 0 or more")
        spec = FaultSpec(FaultKind.DELAY, key_of(api), _check_times(times), delay_s=ms / 1000)
        return Fault(self, spec)

    def error(
        self,
        api: str,
        code: ErrorCode | int | str,
        message: str | None = None,
        *,
        times: int | None = None,
    ) -> Fault:
        """Answer requests of an API with an error of Kafka's, without handling them."""
        if api in _LOGIN_APIS:
            raise ValueError(f"{api} cannot return errors here; to reject a user, use refuse_login")
        error = ApiError(code_of(code), message)
        sent = error.code, error.message
        spec = FaultSpec(FaultKind.ERROR, key_of(api), _check_times(times), error=sent)
        return Fault(self, spec)

    def drop(self, api: str, *, after: bool = False, times: int | None = None) -> Fault:
        """Close the connection instead of handling a request, or ``after`` handling it."""
        kind = FaultKind.DROP_AFTER if after else FaultKind.DROP_BEFORE
        return Fault(self, FaultSpec(kind, key_of(api), _check_times(times)))

    def refuse_login(self, user: str, *, times: int | None = None) -> Fault:
        """Refuse a user's logins like a wrong password; open sessions continue."""
        return Fault(self, FaultSpec(FaultKind.REFUSE_LOGIN, user, _check_times(times)))

    @abstractmethod
    def clear(self) -> None:
        """End all faults."""

    @abstractmethod
    def begin(self, fault: Fault) -> None:
        """Activate a fault."""

    @abstractmethod
    def end(self, fault: Fault) -> None:
        """Deactivate a fault."""

    @abstractmethod
    def look(self, fault: Fault) -> None:
        """Update the ``count`` of a fault."""


class LocalFaults(FaultControl):
    """The faults of a server in this process; its thread calls ``strikes``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: tuple[Fault, ...] = ()

    def clear(self) -> None:
        with self._lock:
            self._active = ()

    def begin(self, fault: Fault) -> None:
        with self._lock:
            # A new tuple, so that the server's thread can read it without the lock.
            self._active = (*self._active, fault)

    def end(self, fault: Fault) -> None:
        with self._lock:
            self._active = tuple(other for other in self._active if other is not fault)

    def look(self, fault: Fault) -> None:
        """Do nothing: ``strikes`` has updated the count."""

    def strikes(self, kind: FaultKind, subject: int | str) -> FaultSpec | None:
        """Return the newest fault that applies, and count a strike."""
        for fault in reversed(self._active):
            spec = fault.spec
            if spec.kind is not kind or spec.subject != subject:
                continue
            if spec.times is None or fault.count < spec.times:
                fault.count += 1
                return spec
        return None


def key_of(api: str) -> int:
    """Return the key of an API that the server has.

    Raises:
        ValueError: the name is unknown.
    """
    keys = (*registry.apis(optional=True), *data_path_keys())
    names: dict[str, int] = {API_NAMES[key]: key for key in keys}
    if api not in names:
        hint = suggestion(api, names) or f"; allowed: {', '.join(names)}"
        raise ValueError(f"api: found {api!r}{hint}")
    return names[api]


def code_of(code: ErrorCode | int | str) -> ErrorCode:
    """Return the error with a number or a name.

    Raises:
        ValueError: there is no such error.
    """
    if isinstance(code, int):
        return ErrorCode(code)
    if code not in ErrorCode.__members__:
        hint = suggestion(code, ErrorCode.__members__) or "; allowed: the names in Kafka's Errors"
        raise ValueError(f"error: found {code!r}{hint}")
    return ErrorCode[code]


def _check_times(times: int | None) -> int | None:
    if times is not None and times < 1:
        raise ValueError(f"times: found {times}; allowed: 1 or more, or None for always")
    return times
