"""From texts to typed values."""

import pytest

from doorkeeper.base.values import (
    KeyType,
    Password,
    Value,
    at_least,
    not_blank,
    one_of,
    parse_value,
    without_login,
)


@pytest.mark.parametrize(
    ("key_type", "text", "value"),
    [
        (KeyType.BOOLEAN, " TRUE ", True),
        (KeyType.BOOLEAN, "false", False),
        (KeyType.INT, " +7 ", 7),
        (KeyType.INT, "-2147483648", -(2**31)),
        (KeyType.SHORT, "32767", 32767),
        (KeyType.LONG, "9223372036854775807", 2**63 - 1),
        (KeyType.DOUBLE, "0.5", 0.5),
        (KeyType.STRING, " a b ", "a b"),
        (KeyType.STRING, "\u00a0a\u2003", "\u00a0a\u2003"),
        (KeyType.LIST, "a, b ,c", ("a", "b", "c")),
        (KeyType.LIST, "  ", ()),
    ],
)
def test_values_are_parsed(key_type: KeyType, text: str, value: Value) -> None:
    """Blanks around a value do not count, as in Kafka, where others than Java's trim has do."""
    assert parse_value(key_type, text) == value


@pytest.mark.parametrize(
    ("key_type", "text", "allowed"),
    [
        (KeyType.BOOLEAN, "yes", "true or false"),
        (KeyType.INT, "2147483648", "a whole number from -2147483648 to 2147483647"),
        (KeyType.INT, "9" * 5000, "a whole number"),
        (KeyType.INT, "\u0661", "a whole number"),
        (KeyType.SHORT, "32768", "to 32767"),
        (KeyType.DOUBLE, "half", "a number"),
    ],
)
def test_wrong_types_are_rejected(key_type: KeyType, text: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=allowed):
        parse_value(key_type, text)


def test_checks_describe_allowed_values() -> None:
    at_least(1)(1)
    one_of("a", "b")("b")
    not_blank("x")

    with pytest.raises(ValueError, match="a whole number from 1 to 5"):
        at_least(1, 5)(6)
    with pytest.raises(ValueError, match="a or b"):
        one_of("a", "b")("c")
    with pytest.raises(ValueError, match="non-empty"):
        not_blank("")


def test_password_is_never_printed() -> None:
    password = parse_value(KeyType.PASSWORD, " s3cret ")

    assert isinstance(password, Password)
    assert (password, password.encode()) == ("s3cret", b"s3cret")
    printed = (
        str(password),
        repr(password),
        f"{password}",
        f"{password:>20}",
        f"{password!r}",
        "%s" % password,  # noqa: UP031  as logging does
        "{}".format(password),  # noqa: UP032  another way
        str([password]),
        str({"key": password}),
    )
    assert all("[hidden]" in text and "s3cret" not in text for text in printed)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://u:pw@h/p@x", "https://[hidden]@h/p@x"),
        ("https://h/p@x", "https://h/p@x"),
        (
            "postgresql://u:p/w@h:1,g/d?sslmode=require",
            "postgresql://[hidden]@h:1,g/d?sslmode=require",
        ),
        ("postgres://u:p@w@h/d", "postgres://[hidden]@h/d"),
        ("postgresql://h/d?password=pw&a=b", "postgresql://h/d?password=[hidden]&a=b"),
        ("postgresql://h/d?a=b&sslpassword=pw", "postgresql://h/d?a=b&sslpassword=[hidden]"),
        ("embedded", "embedded"),
        (None, None),
    ],
)
def test_logins_in_urls_are_hidden(text: str | None, shown: str | None) -> None:
    """A name and password before a host are hidden, of a database whatever stands in them."""
    assert without_login(text) == shown
