"""What client libraries need to connect."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from doorkeeper.base.properties import read
from doorkeeper.testing.certificates import Authority
from doorkeeper.testing.clients import ClientSettings

if TYPE_CHECKING:
    from pathlib import Path


LOGIN = ClientSettings(
    bootstrap_servers="127.0.0.1:1",
    security_protocol="SASL_PLAINTEXT",
    mechanism="SCRAM-SHA-256",
    user="alice",
    password='a "b" \\ \u00e9\U0001f511',
)


def test_login_settings_of_each_library() -> None:
    words = {
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "alice",
        "sasl_plain_password": LOGIN.password,
    }

    assert words.items() <= LOGIN.kafka_python().items()
    assert words.items() <= LOGIN.aiokafka().items()
    assert LOGIN.confluent_kafka()["sasl.password"] == LOGIN.password
    assert LOGIN.java()["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
        ' username="alice" password="a \\"b\\" \\\\ \u00e9\U0001f511";'
    )


def test_java_properties_file(tmp_path: Path) -> None:
    path = LOGIN.write_java(tmp_path / "client.properties")

    assert {entry.key: entry.value for entry in read(path)} == LOGIN.java()
    assert path.stat().st_mode & 0o077 == 0


def test_tls_settings_of_each_library(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    alice = authority.client("alice")
    config = ClientSettings(
        bootstrap_servers="127.0.0.1:1",
        security_protocol="SSL",
        ca_file=authority.file,
        certificate=alice,
    )

    assert config.kafka_python()["ssl_cafile"] == str(authority.file)
    assert config.kafka_python()["ssl_keyfile"] == str(alice.key)
    assert config.confluent_kafka()["ssl.certificate.location"] == str(alice.chain)
    assert config.java()["ssl.keystore.location"] == str(alice.store)
    assert isinstance(config.aiokafka()["ssl_context"], ssl.SSLContext)
