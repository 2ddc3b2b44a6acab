"""Values with named fields."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.base.value import Field, Value, hidden


class Login(Value):
    """A value with every kind of field."""

    user: str
    password: str = hidden()
    host: str = "*"
    tried: int = Field(default=0, about={"unit": "times"})  # type: ignore[assignment]

    @property
    def principal(self) -> str:
        """Return what Kafka calls the user."""
        return f"User:{self.user}"


class Other(Value):
    """A value with the fields of another."""

    user: str


class Token(Other):
    """A value with one field more than another."""

    id: str = "t"


ALICE = Login(user="alice", password="alice-secret")


def test_fields_are_given_by_name_or_have_their_default() -> None:
    """What is not given has the default; properties see the fields."""
    assert (ALICE.user, ALICE.host, ALICE.tried, ALICE.principal) == ("alice", "*", 0, "User:alice")
    assert Login(user="b", password="", host="h").host == "h"


def test_a_value_has_the_fields_of_its_base() -> None:
    """First, and they count in equality and text; the base has not those of the value."""
    assert repr(Token(user="a")) == "Token(user='a', id='t')"
    assert Token(user="a") != Token(user="b")
    assert list(Other.FIELDS) == ["user"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"user": "a"}, "Login: missing: password; unknown: none"),
        ({"user": "a", "password": "", "usr": "b"}, "Login: missing: none; unknown: usr"),
        ({"principal": "b"}, "Login: missing: user, password; unknown: principal"),
    ],
)
def test_a_field_is_neither_left_out_nor_made_up(given: dict[str, Any], said: str) -> None:
    """The error names the fields, and no value: it may be a secret."""
    with pytest.raises(TypeError) as raised:
        Login(**given)

    assert str(raised.value) == said


def test_a_value_never_changes() -> None:
    """No field is set or deleted, none is added, and there is no place to keep one."""
    with pytest.raises(AttributeError, match=r"Login\.user"):
        ALICE.user = "bob"  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"Login\.user"):
        del ALICE.user
    with pytest.raises(AttributeError, match=r"Login\.more"):
        ALICE.more = 1
    assert not hasattr(ALICE, "__dict__")
    assert ALICE.user == "alice"


def test_a_copy_with_changes_leaves_the_value_as_it_is() -> None:
    """``replace`` changes what is named; a name that is no field is an error."""
    bob = ALICE.replace(user="bob", password="p")

    assert (bob.user, bob.host, ALICE.user) == ("bob", "*", "alice")
    with pytest.raises(TypeError, match="unknown: usr"):
        ALICE.replace(usr="bob")


def test_values_are_compared_by_class_and_fields() -> None:
    """Equal fields in the same class are equal and have one hash; another class never is."""
    same = Login(host="*", password="alice-secret", user="alice")

    assert same == ALICE
    assert len({ALICE, same}) == 1
    assert ALICE.replace(host="h") != ALICE
    assert Other(user="a") != Login(user="a", password="")
    assert Other(user="a") != ("a",)


def test_what_is_hidden_is_not_shown() -> None:
    """``repr`` has all fields but the hidden ones."""
    assert repr(ALICE) == "Login(user='alice', host='*', tried=0)"
