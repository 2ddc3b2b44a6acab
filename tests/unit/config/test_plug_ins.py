"""Finding what a key names; the authorizer's tests say more about the same texts."""

from __future__ import annotations

import pytest

from doorkeeper.authn import PlainPasswords
from doorkeeper.config.plug_ins import UnusableClass, import_named, missing_methods, one_line
from testkit import callback_handlers


@pytest.mark.parametrize("separator", [".", ":"])
def test_a_path_leads_to_its_class(separator: str) -> None:
    """Both ways to write a path of Python are taken."""
    name = f"testkit.callback_handlers{separator}Roles"

    assert import_named("some.key", name, "some.group", ()) is callback_handlers.Roles


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("com.example.Handler", r"found the name of a Java class; .* \(java\.A, org\.B\)$"),
        ("testkit.callback_handlers.Gone", "the module testkit.callback_handlers has no Gone"),
        ("testkit.gone.Class", "cannot import testkit.gone: ModuleNotFoundError: "),
        ("short", "found no entry point of this name in some.group; allowed: none is installed"),
    ],
)
def test_what_is_not_there_is_told_with_key_and_name(name: str, text: str) -> None:
    """The line begins with both, and says what would do."""
    with pytest.raises(UnusableClass, match=f"^some.key={name}: {text}"):
        import_named("some.key", name, "some.group", ("org.B", "java.A"))


def test_missing_methods_are_named_in_order() -> None:
    """Those that an abstract class leaves to others."""
    assert missing_methods(PlainPasswords) == "check"
    assert missing_methods(callback_handlers.Roles) == ""


def test_an_exception_is_one_short_line() -> None:
    """Class and text, without line breaks."""
    assert one_line(ValueError("a\nb")) == "ValueError: a b"
    assert one_line(ValueError()) == "ValueError"
    assert len(one_line(ValueError("x" * 1000))) < 300
