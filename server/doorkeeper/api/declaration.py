"""The declaration of an API by its handler's module, which the registry lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.api.node import Node, Outcome, Response
    from doorkeeper.request_context import RequestContext


class Api(NamedTuple):
    """One API: its versions, its request class, its functions, and the listeners that serve it.

    ``handle`` answers a request of a version that is served. ``refuse`` builds the error response
    for the whole request: the broker's ``getErrorResponse``. The request of both is an instance of
    ``request``; they are ``Any`` here because each handler names its own class.
    """

    key: int
    name: str
    min_version: int
    max_version: int
    request: type[Any]
    handle: Callable[[Any, RequestContext, Node], Outcome]
    refuse: Callable[[Any, int, BaseException], Response | None]
    on_broker: bool = True
    on_controller: bool = False
