"""A real Kafka cluster of one or more brokers, each a controller too, behind proxies that fail.

Clients reach the brokers through the proxies alone, since these are advertised. ``direct`` are the
addresses past them: such a connection is to that broker and no other.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from doorkeeper.client.admin import AdminClient
from doorkeeper.client.config import ClientConfig
from testkit.kafka_broker import KafkaBroker, new_cluster_id
from testkit.kafka_jars import broker_jars
from testkit.load import scaled
from testkit.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.acls.model import AclBinding

# Several start at once, which takes minutes on a busy machine.
START_S: Final = 300

# A killed broker is listed, and may not register again, until its session ends.
_SHORT_SESSIONS: Final = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}


class KafkaCluster:
    """A cluster of one release; all is ended with the context."""

    def __init__(
        self,
        version: str,
        brokers: int = 1,
        *,
        heap: str = "512M",
        users: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
    ) -> None:
        self.version = version
        self._overrides = dict(overrides or {})
        self._stack = ExitStack()
        jars = broker_jars(version)
        self.brokers = [
            KafkaBroker(
                jars,
                users={"admin": "admin-secret", **(users or {})},
                overrides={},
                node_id=number,
                heap=heap,
            )
            for number in range(1, brokers + 1)
        ]
        self.proxies = [TcpProxy(each.plain_port) for each in self.brokers]
        self.controller_proxies = [TcpProxy(each.controller_port) for each in self.brokers]

    def __enter__(self) -> Self:
        voters = ",".join(
            f"{each.node_id}@localhost:{each.controller_port}" for each in self.brokers
        )
        cluster_id = new_cluster_id()
        with ExitStack() as undo:
            for proxy in (*self.proxies, *self.controller_proxies):
                undo.enter_context(proxy)
            for broker, proxy in zip(self.brokers, self.proxies, strict=True):
                undo.callback(broker.stop)
                addresses = (
                    f"PLAINTEXT://localhost:{proxy.port},SASL://localhost:{broker.sasl_port}"
                )
                own = {"controller.quorum.voters": voters, "advertised.listeners": addresses}
                broker.format(cluster_id, {**own, **self._overrides})
            for broker in self.brokers:
                broker.launch()
            for broker in self.brokers:
                broker.wait(scaled(START_S))
            self._stack = undo.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"localhost:{proxy.port}" for proxy in self.proxies)

    @property
    def controllers(self) -> str:
        return ",".join(f"localhost:{proxy.port}" for proxy in self.controller_proxies)

    @property
    def direct(self) -> list[str]:
        return [f"localhost:{broker.plain_port}" for broker in self.brokers]

    def acls(self) -> set[AclBinding]:
        """Return what the first broker enforces."""

        async def described() -> set[AclBinding]:
            async with AdminClient(ClientConfig(bootstrap=self.direct[0])) as admin:
                return set(await admin.describe_acls())

        return asyncio.run(described())
