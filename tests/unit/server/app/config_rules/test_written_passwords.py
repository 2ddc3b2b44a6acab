"""The table "your password has X: write Y" of the page."""

from __future__ import annotations

import shlex

import pytest

from doorkeeper.base import jaas, properties
from doorkeeper.server.config import jaas_file
from testkit.written_passwords import ROWS, WrittenPassword

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_written_password_is_read_back(row: WrittenPassword) -> None:
    text = f"sasl.jaas.config={MODULE} password={row.properties};"
    (entry,) = properties.parse(text.encode("ascii"), "")
    (module,) = jaas.parse(entry.value)

    assert module.options["password"] == row.password
    assert shlex.split(row.shell) == [row.password]
    if row.jaas:
        sections = jaas_file.parse(f"KafkaServer {{ {MODULE} password={row.jaas}; }};", {})
        assert sections["KafkaServer"][0].options["password"] == row.password
    else:
        plain = f"KafkaServer {{ {MODULE} password={row.properties}; }};"
        with pytest.raises(jaas.JaasError):
            jaas_file.parse(plain, {})
