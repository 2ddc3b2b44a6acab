"""The table of keys that have an effect."""

import pytest

from doorkeeper.authorizer.kafka_log_line import FORMS
from doorkeeper.authorizer.standard_keys import LOG_FORMAT
from doorkeeper.config.key import Key
from doorkeeper.config.keys import KEYS
from doorkeeper.config.values import KeyType, parse_value
from testkit import configuration_page


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


def test_every_key_is_explained() -> None:
    """Each key has a sentence of documentation."""
    assert [name for name, key in KEYS.items() if not key.doc.endswith((".", ";"))] == []


def test_our_keys_have_our_prefix() -> None:
    """A key is ours by its prefix."""
    assert KEYS["doorkeeper.data.dir"].ours
    assert not KEYS["node.id"].ours


def test_the_forms_of_the_audit_line_are_those_of_the_authorizer() -> None:
    """The key allows exactly the forms that the standard authorizer knows."""
    check = KEYS[LOG_FORMAT].check
    assert check is not None
    for form in FORMS:
        check(form)
    with pytest.raises(ValueError, match=" or ".join(FORMS)):
        check("9.9")
    assert KEYS[LOG_FORMAT].type is KeyType.STRING


def test_the_page_of_keys_is_current() -> None:
    """docs/reference/configuration.md is what the table gives."""
    assert configuration_page.PAGE.read_text(encoding="utf-8") == configuration_page.page()
