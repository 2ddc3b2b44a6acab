"""TLS with real clients, and what a real broker makes of the same certificates."""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testkit.certificates import (
    PASSWORD,
    Certified,
    jks,
    trust_store,
    world,
)
from testkit.clients import CLIENTS, Client
from testkit.kafka_jars import VERSIONS
from testkit.kafka_target import USERS
from testkit.kafka_tools import CallFailed, KafkaTools
from testkit.or_skip import or_skip
from testkit.oracle_totals import Totals
from testkit.tls import client_context
from testkit.tls_doors import TlsDoors, doorkeeper_doors, kafka_doors

REFERENCE = VERSIONS[0]
STORES = ("PKCS12", "JKS", "PEM")
ANY = ["ANY", None, "ANY", None, None, "ANY", "ANY"]
WITH_TLS = [client for client in CLIENTS if client.name in ("kafka-python-3", "confluent-kafka")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for all stores."""
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def doors(folder: Path) -> Iterator[TlsDoors]:
    """Give a Doorkeeper; bob's certificate is revoked."""
    running = doorkeeper_doors(folder, world().bob)
    yield running
    log = running.server.log.read_text()
    running.close()
    assert "Traceback" not in log
    assert PASSWORD not in log


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsDoors]:
    """Give a real broker."""
    running = or_skip(lambda: kafka_doors(tmp_path_factory.mktemp("kafka-stores"), REFERENCE))
    yield running
    running.close()


def java_config(
    folder: Path,
    address: str,
    protocol: str = "SSL",
    shown: Certified | None = None,
    store_type: str = "PEM",
) -> dict[str, str]:
    """Return the properties of a Java client, with stores of a type."""
    config = {"bootstrap.servers": address, "security.protocol": protocol}
    name = folder / f"{store_type}-{id(shown)}"
    config["ssl.truststore.type"] = store_type
    config["ssl.truststore.location"] = str(folder / f"trusted.{store_type}")
    if store_type == "PEM":
        (folder / "trusted.PEM").write_text(world().authority.pem)
    else:
        trust_store(folder / f"trusted.{store_type}", store_type, world().authority)
        config["ssl.truststore.password"] = PASSWORD
    if shown is not None:
        config["ssl.keystore.type"] = store_type
        config["ssl.keystore.location"] = str(name)
        if store_type == "PEM":
            shown.write_pem(name)
        else:
            config["ssl.keystore.password"] = config["ssl.key.password"] = PASSWORD
            if store_type == "JKS":
                jks(shown, name)
            else:
                name.write_bytes(shown.pkcs12())
    return config


def login(config: dict[str, str], user: str, password: str) -> dict[str, str]:
    """Add a login by PLAIN."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    line = f'{module} required username="{user}" password="{password}";'
    return {**config, "sasl.mechanism": "PLAIN", "sasl.jaas.config": line}


def written(config: dict[str, str], path: Path) -> str:
    """Write the properties as --command-config wants them."""
    path.write_text("".join(f"{k}={v}\n" for k, v in config.items() if k != "bootstrap.servers"))
    return str(path)


@pytest.mark.parametrize("store_type", STORES)
def test_kafka_acls(
    tools: KafkaTools, doors: TlsDoors, folder: Path, tmp_path: Path, store_type: str
) -> None:
    """kafka-acls.sh adds and lists with a client certificate, from stores of each type."""
    address = doors.address("SHORT")
    config = java_config(folder, address, shown=world().alice, store_type=store_type)
    file = written(config, tmp_path / "client.properties")
    common = ("--bootstrap-server", address, "--command-config", file)
    topic = f"of-{tools.version}-{store_type}"

    added = tools.run(
        "kafka-acls",
        *common,
        *("--add", "--allow-principal", "User:x", "--operation", "Read", "--topic", topic),
    )
    listed = tools.run("kafka-acls", *common, "--list", "--topic", topic)

    assert (added.status, listed.status) == (0, 0), added.text + listed.text
    assert "principal=User:x, host=*, operation=READ, permissionType=ALLOW" in listed.stdout


REFUSED = {
    "no certificate where one is required": ("MUTUAL", None, None),
    "a certificate of another authority": ("MUTUAL", "stranger", None),
    "a server whose authority is not trusted": ("TLS", None, "nobody"),
}


def outcome(
    tools: KafkaTools, running: TlsDoors, folder: Path, refused: tuple[str, str | None, str | None]
) -> str:
    """Return the class of the error that a Java client tells; "served" where there is none."""
    listener, shown, trusting = refused
    certified = getattr(world(), shown) if shown else None
    config = java_config(folder, running.address(listener), shown=certified)
    if trusting is not None:
        other = folder / "others.PEM"
        other.write_text(world().stranger.issuers[0].public_bytes(_pem()).decode())
        config["ssl.truststore.location"] = str(other)
    try:
        tools.call("describeCluster", config)
    except CallFailed as failed:
        return str(failed).partition(":")[0]
    return "served"


def _pem() -> Any:
    from cryptography.hazmat.primitives.serialization import Encoding

    return Encoding.PEM


@pytest.mark.parametrize("why", REFUSED)
def test_tls_errors_match_the_broker(
    kafka_tools: Callable[[str], KafkaTools],
    doors: TlsDoors,
    kafka: TlsDoors,
    folder: Path,
    totals: Totals,
    why: str,
) -> None:
    """A Java client tells the same error of both servers, and not that they are down."""
    tools = kafka_tools(REFERENCE)

    found = [outcome(tools, each, folder, REFUSED[why]) for each in (kafka, doors)]

    assert found == ["SslAuthenticationException"] * 2
    totals.compared["refusals of TLS that a Java client tells"] += 1


def test_unrequested_certificate_is_rejected(
    kafka_tools: Callable[[str], KafkaTools],
    doors: TlsDoors,
    kafka: TlsDoors,
    folder: Path,
    totals: Totals,
) -> None:
    """A broker names its authorities: a Java client then shows none of another; we refuse it."""
    tools = kafka_tools(REFERENCE)
    stranger = ("ASKED", "stranger", None)

    assert outcome(tools, kafka, folder, stranger) == "served"
    assert outcome(tools, doors, folder, stranger) == "SslAuthenticationException"
    totals.accepted["authorities are not named to TLS clients"] += 1


def test_dynamic_key_stores_match_the_broker(
    kafka_tools: Callable[[str], KafkaTools],
    doors: TlsDoors,
    kafka: TlsDoors,
    folder: Path,
    totals: Totals,
) -> None:
    """kafka-configs gives a listener another key store: taken, refused and read anew alike."""
    tools = kafka_tools(REFERENCE)
    key = "listener.name.asked.ssl.keystore.location"
    renewed, newest = world().authority.server(), world().authority.server()
    stores = {
        "renewed": renewed,
        "elsewhere": world().authority.certify(("CN", "elsewhere"), hosts=("localhost",)),
        "with-fewer-names": world().authority.certify(("CN", "localhost"), hosts=("localhost",)),
    }

    usual = world().server
    changes = (
        (f"--add-config {key}={{own}}/none.p12", 1, usual),
        (f"--add-config {key}={{own}}/renewed.p12", 0, renewed),
        (f"--add-config {key}={{own}}/elsewhere.p12", 1, renewed),
        (f"--add-config {key}={{own}}/with-fewer-names.p12", 1, renewed),
        (f"--add-config {key}={{own}}/renewed.p12", 0, newest),
        (f"--delete-config {key}", 0, usual),
    )
    for running in (kafka, doors):
        address = running.address("LOGIN")
        plain = java_config(folder, address, "SASL_SSL")
        file = written(login(plain, "admin", USERS["admin"]), folder / "admin.properties")
        entity = ("--alter", "--entity-type", "brokers", "--entity-name", "1")
        words = ("--bootstrap-server", address, "--command-config", file, *entity)
        own = folder / str(running.ports["LOGIN"])
        own.mkdir()
        for name, certified in stores.items():
            (own / f"{name}.p12").write_bytes(certified.pkcs12())
        for change, status, shown in changes:
            if shown is newest:
                (own / "renewed.p12").write_bytes(newest.pkcs12())
            done = tools.run("kafka-configs", *words, *change.format(own=own).split())
            assert done.status == status, done.text
            assert served(running, shown.der) == shown.der, change
            totals.compared["changes of the stores of a listener"] += 1


def served(running: TlsDoors, wanted: bytes) -> bytes:
    """Return the certificate that a listener shows. A broker shows its changes a little later."""
    shown: bytes | None = None
    for _ in range(200):
        with (
            socket.create_connection(("localhost", running.ports["ASKED"])) as plain,
            client_context().wrap_socket(plain, server_hostname="localhost") as talk,
        ):
            shown = talk.getpeercert(binary_form=True)
        if shown == wanted:
            break
        time.sleep(0.05)
    assert shown is not None
    return shown


NAMES: list[tuple[tuple[str, str], ...]] = [
    (("C", "DE"), ("O", "Example, Inc"), ("OU", "ServiceUsers"), ("CN", "serviceuser")),
    (("C", "DE"), ("O", "Unknown"), ("OU", "Admin"), ("CN", "adminUser")),
    (("CN", "Müller + Söhne"),),
    (("O", ' "quoted" <x>; #1 '), ("CN", "#hash")),
    (("emailAddress", "a@example.com"), ("CN", "with.Email")),
    (("CN", "a=b\\c"), ("OU", "x"), ("OU", "y")),
    (("O", "nobody"),),
]


def test_certificate_principals_match_the_broker(
    kafka_tools: Callable[[str], KafkaTools],
    doors: TlsDoors,
    kafka: TlsDoors,
    folder: Path,
    totals: Totals,
) -> None:
    tools = kafka_tools(REFERENCE)
    shown: list[tuple[str, Certified]] = []
    for name in NAMES:
        named = world().authority.certify(*name)
        shown += [(listener, named) for listener in ("ASKED", "MUTUAL", "SHORT")]
    before = [len(each.denied()) for each in (kafka, doors)]

    seen: list[list[str]] = []
    for running, skipped in zip((kafka, doors), before, strict=True):
        for listener, certified in shown:
            config = java_config(folder, running.address(listener), shown=certified)
            with pytest.raises(CallFailed, match="ClusterAuthorizationException"):
                tools.call("describeAcls", config, filter=ANY)
        seen.append(list(dict.fromkeys(running.denied()[skipped:])))

    assert seen[0] == seen[1]
    assert len(seen[0]) > len(NAMES)
    totals.compared["principals of certificates, beside a broker"] += len(shown)


def other_config(client: Client, folder: Path, shown: Certified | None, user: str | None) -> Any:
    """Return a library's own keys."""
    (folder / "trusted.PEM").write_text(world().authority.pem)
    key, chain = folder / "other.key", folder / "other.pem"
    if shown is not None:
        key.write_text(shown.key_pem())
        chain.write_text(shown.chain_pem)
    protocol = "SASL_SSL" if user else "SSL"
    if client.name == "confluent-kafka":
        config = {"security.protocol": protocol, "ssl.ca.location": str(folder / "trusted.PEM")}
        if shown is not None:
            config |= {"ssl.key.location": str(key), "ssl.certificate.location": str(chain)}
        return config
    config = {"security_protocol": protocol, "ssl_cafile": str(folder / "trusted.PEM")}
    if shown is not None:
        config |= {"ssl_keyfile": str(key), "ssl_certfile": str(chain)}
    return config


@pytest.mark.parametrize("client", WITH_TLS, ids=lambda client: client.name)
@pytest.mark.parametrize(
    ("listener", "shown", "user"),
    [
        ("TLS", None, None),
        ("ASKED", None, None),
        ("ASKED", "alice", None),
        ("MUTUAL", "alice", None),
        ("LOGIN", None, "admin"),
        ("LOGIN", "alice", "admin"),
    ],
)
def test_other_clients(
    doors: TlsDoors,
    folder: Path,
    client: Client,
    listener: str,
    shown: str | None,
    user: str | None,
) -> None:
    """Two more libraries, on every listener."""
    certified = getattr(world(), shown) if shown else None
    (found,) = or_skip(
        lambda: client.talk(
            doors.address(listener),
            ("describe_cluster", {}),
            login=(user, USERS[user]) if user else None,
            config=other_config(client, folder, certified, user),
        )
    )

    assert "value" in found, found
    assert [port for _, _, port in found["value"]["nodes"]] == [doors.ports[listener]]
