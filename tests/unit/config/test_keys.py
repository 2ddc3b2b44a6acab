"""The table of keys that have an effect."""

import pytest

from doorkeeper.config.key import Key
from doorkeeper.config.keys import KEYS
from doorkeeper.config.values import parse_value


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_defaults_are_allowed(key: Key) -> None:
    """Every default is of its key's type and passes its check."""
    if key.default is None:
        return
    value = parse_value(key.type, key.default)
    if key.check is not None:
        key.check(value)


def test_passwords_and_undeclared_keys_are_sensitive() -> None:
    """What a broker never shows is never shown here."""
    sensitive = {name for name, key in KEYS.items() if key.sensitive}

    assert sensitive == {
        *("super.users", "allow.everyone.if.no.acl.found", "sasl.jaas.config"),
        *("ssl.keystore.password", "ssl.key.password", "ssl.truststore.password"),
        *("delegation.token.secret.key", "delegation.token.master.key"),
        *("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates"),
    }
