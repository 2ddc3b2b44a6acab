"""The registry of APIs, by key.

ApiVersions is answered from it, so that it lists exactly the APIs served. ``OPTIONAL`` APIs are
served only where the configuration enables them. Another package adds its APIs to the table of one
server with ``ApiTable.with_apis``: the test broker does.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.server.api.node import ApiRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from doorkeeper.server.api.declaration import Api


class RegisteredTwice(ValueError):
    """Two handlers claim one API key."""


def by_key(apis: Iterable[Api]) -> dict[int, Api]:
    """Return APIs by key, in the order of the keys.

    Raises:
        RegisteredTwice: a key occurs twice.
    """
    table: dict[int, Api] = {}
    for each in sorted(apis, key=lambda one: one.key):
        if each.key in table:
            raise RegisteredTwice(f"key {each.key}: {table[each.key].name} and {each.name}")
        table[each.key] = each
    return table


def _load(module: str) -> Api:
    api: Api = import_module(f"doorkeeper.server.api.{module}").API
    return api


USUAL: Final = (
    "api_versions",
    "create_acls",
    "create_topics",
    "delete_acls",
    "delete_topics",
    "describe_acls",
    "describe_cluster",
    "describe_configs",
    "describe_groups",
    "find_coordinator",
    "incremental_alter_configs",
    "list_groups",
    "metadata",
    "sasl_authenticate",
    "sasl_handshake",
)
"""The modules of APIs that clients call often; a start imports them."""

_USUAL: Final = by_key(map(_load, USUAL))


class Rare(NamedTuple):
    """A rarely used API: its module is imported by the first request, not at the start.

    All fields but ``module`` equal the module's ``API``.
    """

    key: int
    module: str
    min_version: int
    max_version: int
    on_controller: bool = False

    def load(self) -> Api:
        return _load(self.module)


RARE: Final = (
    Rare(0, "produce", 0, 13),
    Rare(2, "list_offsets", 1, 11),
    Rare(8, "offset_commit", 2, 10),
    Rare(9, "offset_fetch", 1, 10),
    Rare(13, "leave_group", 0, 5),
    Rare(21, "delete_records", 0, 2),
    Rare(22, "init_producer_id", 0, 5),
    Rare(23, "offset_for_leader_epoch", 2, 4),
    Rare(33, "alter_configs", 0, 2, on_controller=True),
    Rare(34, "alter_replica_log_dirs", 1, 2),
    Rare(35, "describe_log_dirs", 1, 5),
    Rare(37, "create_partitions", 0, 3, on_controller=True),
    Rare(38, "create_delegation_token", 0, 3, on_controller=True),
    Rare(39, "renew_delegation_token", 0, 2, on_controller=True),
    Rare(40, "expire_delegation_token", 0, 2, on_controller=True),
    Rare(41, "describe_delegation_token", 0, 3, on_controller=True),
    Rare(42, "delete_groups", 0, 2),
    Rare(43, "elect_leaders", 0, 2, on_controller=True),
    Rare(45, "alter_partition_reassignments", 0, 1, on_controller=True),
    Rare(46, "list_partition_reassignments", 0, 0, on_controller=True),
    Rare(47, "offset_delete", 0, 0),
    Rare(48, "describe_client_quotas", 0, 1),
    Rare(49, "alter_client_quotas", 0, 1, on_controller=True),
    Rare(50, "describe_user_scram_credentials", 0, 0),
    Rare(51, "alter_user_scram_credentials", 0, 0, on_controller=True),
    Rare(55, "describe_quorum", 0, 2, on_controller=True),
    Rare(57, "update_features", 0, 2, on_controller=True),
    Rare(61, "describe_producers", 0, 0),
    Rare(64, "unregister_broker", 0, 0, on_controller=True),
    Rare(65, "describe_transactions", 0, 0),
    Rare(66, "list_transactions", 0, 2),
    Rare(69, "consumer_group_describe", 0, 1),
    Rare(74, "list_config_resources", 0, 1),
    Rare(75, "describe_topic_partitions", 0, 0),
    Rare(77, "share_group_describe", 1, 1),
    Rare(89, "streams_group_describe", 0, 0),
)


class ApiTable(Mapping[int, "Api"]):
    """APIs by key, in the order of the keys; a rare one is imported when it is looked up."""

    def __init__(self, usual: Iterable[Api], rare: Iterable[Rare] = ()) -> None:
        """Join both.

        Raises:
            RegisteredTwice: a key occurs twice.
        """
        self._loaded = by_key(usual)
        self._rare = {each.key: each for each in rare}
        for key in self._rare.keys() & self._loaded.keys():
            raise RegisteredTwice(f"key {key}: {self._loaded[key].name} and a rare one")
        self._keys = sorted((*self._loaded, *self._rare))
        self._ranges = {
            controller: tuple(
                ApiRange(each.key, each.min_version, each.max_version)
                for each in self.declarations()
                if each.on_controller or not controller
            )
            for controller in (False, True)
        }

    def with_apis(self, apis: Iterable[Api]) -> ApiTable:
        """Return the table of a server with further APIs; each replaces one that has its key.

        Raises:
            RegisteredTwice: two of them have the same key.
        """
        # Their handlers may change what is theirs: always on the event loop.
        added = by_key(api._replace(in_thread=False) for api in apis)
        usual = (api for key, api in self._loaded.items() if key not in added)
        rare = (each for key, each in self._rare.items() if key not in added)
        return ApiTable((*usual, *added.values()), rare)

    def ranges(self, *, controller: bool) -> tuple[ApiRange, ...]:
        """Return the rows of ApiVersions for listeners of a kind, by key."""
        return self._ranges[controller]

    def finder(self) -> Callable[[int], Api | None]:
        """Return a function from a key to its API, or None; one look-up in a dict."""
        return _Finder(self, self._loaded).__getitem__

    def __getitem__(self, key: int) -> Api:
        rare = self._rare.get(key)
        return self._loaded[key] if rare is None else rare.load()

    def __contains__(self, key: object) -> bool:
        """Return whether an API is served; import nothing."""
        return key in self._loaded or key in self._rare

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def declarations(self) -> Iterator[Api | Rare]:
        """Yield the declaration of each API, by key; import nothing."""
        return (self._rare.get(key) or self._loaded[key] for key in self._keys)


class _Finder(dict[int, "Api | None"]):
    """The usual APIs, and the rare ones that were looked up."""

    def __init__(self, table: ApiTable, usual: Mapping[int, Api]) -> None:
        super().__init__(usual)
        self._table = table

    def __missing__(self, key: int) -> Api | None:
        found = self._table.get(key)
        if found is not None:
            self[key] = found
        return found


APIS: Final[ApiTable] = ApiTable(_USUAL.values(), RARE)
"""Every API by key, without those of ``OPTIONAL``."""

OPTIONAL: dict[int, Api] = by_key([_load("join_group")])
"""APIs served only with ``doorkeeper.clients.join.group``."""

# Both tables exist once: the look-up of an API is on the path of every request.
_TABLES: Final = {False: APIS, True: ApiTable([*_USUAL.values(), *OPTIONAL.values()], RARE)}


def apis(*, optional: bool = False) -> ApiTable:
    """Return the APIs that are served, by key."""
    return _TABLES[optional]
