"""What ``authorizer.class.name`` may say."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import TYPE_CHECKING

import pytest

from doorkeeper.authorizer import loading
from doorkeeper.authorizer.contract import Authorizer
from doorkeeper.authorizer.loading import authorizer_class
from doorkeeper.authorizer.older import OlderAuthorizer
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.config.plug_ins import UnusableClass

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = """
from doorkeeper.authorizer.contract import Authorizer

class Half(Authorizer):
    def start(self, server_info):
        return {}

not_a_class = 7

class Whole(Authorizer):
    def start(self, server_info):
        return {}
    def authorize(self, context, actions):
        return []
    def create_acls(self, *asked):
        return []
    @staticmethod
    def delete_acls(context, filters):
        return []
    @classmethod
    def acls(cls, wanted, more=None):
        return []

class Awaits(Whole):
    async def authorize(self, context, actions):
        return []
    async def acls(self, wanted):
        yield 1

class Miscounts(Whole):
    def authorize(self, context):
        return []
    def create_acls(self, context, bindings, more):
        return []
    @staticmethod
    def acls():
        return []

class Older:
    async def authorize(self, session, operation, resource):
        return True
    def add_acls(self, acls):
        pass
    def remove_acls(self, acls, resource):
        return True
    def get_acls(self, principal=None, resource=None):
        return {}
"""


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put two modules where Python finds them: a plug-in, and one that fails."""
    (tmp_path / "dk_plugin.py").write_text(PLUGIN)
    (tmp_path / "dk_broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install two entry points: ours under a short name, and one that leads nowhere."""
    group = loading.ENTRY_POINT_GROUP
    points = EntryPoints(
        [
            EntryPoint("standard", "doorkeeper.authorizer.standard:StandardAuthorizer", group),
            EntryPoint("gone", "dk_gone:Authorizer", group),
        ]
    )

    def entry_points(*, group: str) -> EntryPoints:
        return points.select(group=group)

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)


@pytest.mark.parametrize("name", ["", "  "])
def test_empty_means_none(name: str) -> None:
    """Then everything is allowed."""
    assert authorizer_class(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
        " doorkeeper.authorizer.standard.StandardAuthorizer ",
        "doorkeeper.authorizer.standard:StandardAuthorizer",
    ],
)
def test_kafkas_names_and_paths_lead_to_ours(name: str) -> None:
    """Both ways to write a path of Python are taken."""
    assert authorizer_class(name) is StandardAuthorizer


@pytest.mark.usefixtures("installed")
def test_an_entry_point_is_named_without_dots() -> None:
    """In the group ``doorkeeper.authorizers``."""
    assert authorizer_class("standard") is StandardAuthorizer


@pytest.mark.usefixtures("plugins", "installed")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "com.example.Authorizer",
            (
                "found the name of a Java class; expected is a Python class: package.module.Class,"
                " an entry point, or one of Kafka's own names"
                " (kafka.security.auth.SimpleAclAuthorizer,"
                " kafka.security.authorizer.AclAuthorizer,"
                " org.apache.kafka.metadata.authorizer.StandardAuthorizer)"
            ),
        ),
        (
            "de.example.Authorizer",
            (
                "cannot import de.example: ModuleNotFoundError: No module named 'de'; expected is a"
                " Python class"
            ),
        ),
        (
            "dk_broken.Authorizer",
            (
                "cannot import dk_broken: ZeroDivisionError: division by zero; expected is a"
                " Python class"
            ),
        ),
        ("dk_plugin.Nothing", "the module dk_plugin has no Nothing"),
        (
            "dk_plugin:not_a_class",
            (
                "found 7; allowed: a subclass of doorkeeper.authorizer.Authorizer, or a class with"
                " the methods of KIP-11"
            ),
        ),
        (
            "dk_plugin.Half",
            "the class lacks the methods acls, authorize, create_acls, delete_acls",
        ),
        (
            "other",
            (
                "found no entry point of this name in doorkeeper.authorizers; allowed: gone,"
                " standard,"
                " or package.module.Class"
            ),
        ),
        (
            "gone",
            "cannot load dk_gone:Authorizer: ModuleNotFoundError: No module named 'dk_gone'",
        ),
    ],
)
def test_what_is_unusable_is_told_in_one_line(name: str, text: str) -> None:
    """The line begins with key and value."""
    with pytest.raises(UnusableClass) as caught:
        authorizer_class(name)

    assert str(caught.value) == f"authorizer.class.name={name}: {text}"
    assert isinstance(caught.value, ValueError)


def test_the_older_interface_is_wrapped() -> None:
    """A class that has KIP-11's methods is an authorizer too, under its own name."""
    found = authorizer_class("testkit.older.OlderInMemory")

    assert found is not None
    assert issubclass(found, OlderAuthorizer)
    assert found.__name__ == "OlderInMemory"


def test_the_contract_itself_is_no_authorizer() -> None:
    """It lacks every method that has no default."""
    with pytest.raises(UnusableClass, match="lacks the methods acls, authorize"):
        authorizer_class(f"{Authorizer.__module__}.{Authorizer.__name__}")


@pytest.mark.usefixtures("plugins")
def test_methods_may_take_their_arguments_in_any_way() -> None:
    """Static methods, class methods, defaults and stars are as good."""
    found = authorizer_class("dk_plugin.Whole")

    assert found is not None
    assert found.__name__ == "Whole"


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("dk_plugin.Awaits", ("authorize is async def; expected is def", "acls is async def")),
        (
            "dk_plugin.Miscounts",
            (
                "authorize(self, context) is called with 2 arguments besides self: too many",
                "create_acls(self, context, bindings, more) is called with",
                "acls() is called with 1 argument: too many",
            ),
        ),
        (
            "dk_plugin.Older",
            (
                "authorize is async def",
                "add_acls(self, acls) is called with 2 arguments besides self",
            ),
        ),
    ],
)
def test_methods_that_cannot_be_called_are_found_before_the_first_call(
    name: str, texts: tuple[str, ...]
) -> None:
    """By ``config check`` and at the start, all at once, in one line."""
    with pytest.raises(UnusableClass) as caught:
        authorizer_class(name)

    assert str(caught.value).startswith(f"authorizer.class.name={name}: ")
    assert "\n" not in str(caught.value)
    for text in texts:
        assert text in str(caught.value)
