"""The registry of APIs, by key: all of this package, each declared at the end of its module.

ApiVersions is answered from it, so that it lists exactly the APIs served. Another package adds its
APIs to the table of one server with ``ApiTable.with_apis``: the test broker does. A server for
tests of clients may serve the versions of an older release alone: ``ApiTable.capped``.

All are imported at the start, in 16 ms: a first request would hold up all others meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from doorkeeper.server.config.kafka_versions import VersionCap
from doorkeeper_wire.messages.api_versions import ApiVersion

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api


API_VERSIONS: Final = 18
_NO_CAP: Final = VersionCap()


class ApiTable(dict[int, "Api"]):
    """APIs by key, in the order of the keys."""

    def __init__(self, apis: Iterable[Api], cap: VersionCap = _NO_CAP) -> None:
        """Take the APIs, in any order, as far as their versions may be listed.

        Raises:
            ValueError: a key occurs twice.
        """
        super().__init__()
        self._cap = cap
        for declared in sorted(apis, key=lambda api: api.key):
            if declared.key in self:
                names = f"{self[declared.key].name} and {declared.name}"
                raise ValueError(f"registered twice: key {declared.key}: {names}")
            api = capped(declared, cap)
            if api is not None:
                self[api.key] = api
        self._ranges = {
            controller: tuple(
                ApiVersion(
                    api_key=api.key, min_version=api.min_version, max_version=api.max_version
                )
                for api in self.values()
                if api.on_controller or not controller
            )
            for controller in (False, True)
        }

    def ranges(self, *, controller: bool) -> tuple[ApiVersion, ...]:
        """Return the rows of ApiVersions for listeners of a kind, by key."""
        return self._ranges[controller]

    def with_apis(self, apis: Iterable[Api]) -> ApiTable:
        """Return the table of a server with further APIs; each replaces one that has its key.

        Raises:
            ValueError: two of them have the same key.
        """
        # Their handlers may change what is theirs: always on the event loop.
        added = ApiTable((replace(api, in_thread=False) for api in apis), self._cap)
        return ApiTable((self | added).values(), self._cap)

    def capped(self, cap: VersionCap) -> ApiTable:
        """Return the table of a server that serves no other versions, of added APIs neither."""
        return ApiTable(self.values(), cap)

    def refusing(self, key: int, version: int) -> Api | None:
        """Return the API that refuses a version without a handler.

        That is the one of the other versions if Kafka does not have this one. Of a server that
        serves the versions of a release alone, Kafka is that release.
        """
        # Imported when such a request arrives: it would cost every start.
        from doorkeeper.server.api.unserved import api_of  # noqa: PLC0415

        served = self.get(key)
        if key == API_VERSIONS:
            return served
        unserved = api_of(key)
        api = None if unserved is None else capped(unserved, self._cap)
        if served is None or (api and api.min_version <= version <= api.max_version):
            return api
        return served


def capped(api: Api, cap: VersionCap) -> Api | None:
    """Return an API with the versions that may be listed; None if there are none."""
    versions = cap.versions(api.key, api.min_version, api.max_version)
    if versions == (api.min_version, api.max_version):
        return api
    if versions is None:
        return None
    low, high = versions
    refuse: Any = api.refuse
    if api.key == API_VERSIONS:
        refuse = partial(refuse, max_version=high)
    return replace(api, min_version=low, max_version=high, refuse=refuse)


def _declared() -> Iterator[Api]:
    """Yield the API of each module of this package that declares one."""
    modules = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")}
    # ``unserved`` declares none, and is imported with its first request.
    for name in sorted(modules - {"registry", "unserved"}):
        api = getattr(import_module(f"{__package__}.{name}"), "API", None)
        if api is not None:
            yield api


# Both tables exist once: the look-up of an API is on the path of every request.
_EVERY: Final = ApiTable(_declared())

APIS: Final = ApiTable(api for api in _EVERY.values() if not api.is_optional)
"""Every API by key, without those that the configuration must enable."""


def apis(*, optional: bool = False) -> ApiTable:
    """Return the APIs that are served, by key; with ``optional`` those that must be enabled too."""
    return _EVERY if optional else APIS
