"""ACLs of a live cluster: Kafka or Doorkeeper, through its brokers or its controllers."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.repositories.addresses import AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.repository import AclContents, AclRepository, contents_of
from doorkeeper.cli.repositories.sessions import ClusterSession
from doorkeeper.cli.terminal import author
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.errors import ClientError
from doorkeeper.client.identity import identity_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from doorkeeper.acls.model import AclBindingFilter
    from doorkeeper.base.properties import PropertiesFile
    from doorkeeper.cli.repositories.addresses import Address


class ClusterRepository(AclRepository):
    """The ACLs of a live cluster, by DescribeAcls, CreateAcls and DeleteAcls."""

    def __init__(
        self,
        address: Address,
        command_config: PropertiesFile | None = None,
        on_retry: Callable[[ClientError], None] | None = None,
    ) -> None:
        self.address = address
        self._is_controllers = address.kind is AddressKind.CONTROLLERS
        servers = "controllers" if self._is_controllers else "brokers"
        self.description = f"the {servers} at {address.target}"
        self._command_config = command_config
        self._on_retry = on_retry

    async def read(self) -> AclContents:
        """Return the ACLs that the cluster describes."""
        async with self.change() as session:
            contents = contents_of(await session.listing())
            networks = await session.matches_networks()
            cluster_id = await session.cluster_id()
        # A name that brokers may map proves nothing about the one that they have mapped.
        identity = await identity_of(self.client_config())
        return structs.replace(
            contents,
            networks=networks,
            cluster_id=cluster_id or None,
            login=None if identity.doubt else identity.principal,
        )

    async def find(self, filters: Sequence[AclBindingFilter]) -> AclContents:
        """Return the ACLs that match any of the filters, also those with unknown codes."""
        async with self.change() as session:
            listing = await session.listing(filters)
        return AclContents(listing.bindings, doubtful=listing.doubtful)

    @asynccontextmanager
    async def change(self, *, create: bool = False) -> AsyncIterator[ClusterSession]:
        """Open a client; it connects with the first request.

        Raises:
            RepositoryError: the address or the properties are wrong.
        """
        del create  # a cluster is there, or is not
        with self.translate_errors():
            config = self.client_config()
            client = AdminClient(config, on_retry=self._on_retry)
        async with client:
            yield ClusterSession(client, config, self.translate_errors)

    def client_config(self) -> ClientConfig:
        """Return the address and the client's properties.

        Raises:
            ConfigError: the file of properties cannot be read.
            ValueError: one of them is wrong.
        """
        if self._command_config is None:
            config = ClientConfig(bootstrap=self.address.target, controllers=self._is_controllers)
        else:
            # The reader of Java's properties imports what most commands do not need.
            from doorkeeper.client.properties import client_config

            config = client_config(
                self.address.target, self._command_config, controllers=self._is_controllers
            )
        return replace(config, client_id=name) if (name := author()) else config

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise errors of the client as a RepositoryError with the address."""
        try:
            yield
        except ConfigError as error:
            raise RepositoryError(*map(str, error.problems)) from error
        except (ClientError, ValueError, OSError) as error:
            raise RepositoryError(f"{self.address}: {error}") from error
