"""What ``authorizer.class.name`` may say."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.authorizer import loading
from doorkeeper.server.authorizer.loading import authorizer_class
from doorkeeper.server.authorizer.older import OlderAuthorizer
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.plug_ins import UnusableClass

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = """
from doorkeeper.server.authorizer.contract import Authorizer

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
            EntryPoint(
                "standard", "doorkeeper.server.authorizer.standard:StandardAuthorizer", group
            ),
            EntryPoint("gone", "dk_gone:Authorizer", group),
        ]
    )

    def entry_points(*, group: str) -> EntryPoints:
        return points.select(group=group)

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "name",
    [
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "kafka.security.authorizer.AclAuthorizer",
        "kafka.security.auth.SimpleAclAuthorizer",
        " doorkeeper.server.authorizer.standard.StandardAuthorizer ",
        "doorkeeper.server.authorizer.standard:StandardAuthorizer",
        "standard",
    ],
)
def test_names_and_paths_select_authorizers(name: str) -> None:
    """Both ways to write a path of Python, and an entry point of ``doorkeeper.authorizers``."""
    assert authorizer_class(name) is StandardAuthorizer
    assert authorizer_class(" ") is None


@pytest.mark.usefixtures("plugins", "installed")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("com.example.Authorizer", "found the name of a Java class; expected: a Python class: "),
        ("de.example.Authorizer", "cannot import de.example: ModuleNotFoundError: No module named"),
        ("dk_broken.Authorizer", "cannot import dk_broken: ZeroDivisionError: division by zero; "),
        ("dk_plugin.Nothing", "the module dk_plugin has no Nothing"),
        ("dk_plugin:not_a_class", "found 7; allowed: a subclass of doorkeeper.plugins."),
        ("dk_plugin.Half", "the class lacks the methods acls, authorize, create_acls, delete_acls"),
        ("doorkeeper.server.authorizer.contract.Authorizer", "the class lacks the methods acls, "),
        ("other", "found no entry point of this name in doorkeeper.authorizers; allowed: gone, "),
        ("gone", "cannot load dk_gone:Authorizer: ModuleNotFoundError: No module named 'dk_gone'"),
    ],
)
def test_unusable_class_is_reported_in_one_line(name: str, text: str) -> None:
    with pytest.raises(UnusableClass) as caught:
        authorizer_class(name)

    assert str(caught.value).startswith(f"authorizer.class.name={name}: {text}")
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_kip_11_interface_is_wrapped() -> None:
    """A class that has KIP-11's methods is an authorizer too, under its own name."""
    found = authorizer_class("testkit.older.OlderInMemory")

    assert found is not None
    assert issubclass(found, OlderAuthorizer)
    assert found.__name__ == "OlderInMemory"


@pytest.mark.usefixtures("plugins")
def test_methods_may_have_any_signature() -> None:
    found = authorizer_class("dk_plugin.Whole")

    assert found is not None
    assert found.__name__ == "Whole"


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("Awaits", ["authorize is async def; expected: def", "acls is async def"]),
        ("Miscounts",
         ["authorize(self, context) is called with 2 arguments besides self: too many",
          "create_acls(self, context, bindings, more) is called with",
          "acls() is called with 1 argument: too many"]),
        ("Older",
         ["authorize is async def",
          "add_acls(self, acls) is called with 2 arguments besides self"]),
    ],
)  # fmt: skip
def test_uncallable_methods_are_found_at_start(name: str, texts: list[str]) -> None:
    """By ``config check`` and at the start, all at once, in one line."""
    with pytest.raises(UnusableClass) as caught:
        authorizer_class(f"dk_plugin.{name}")

    assert str(caught.value).startswith(f"authorizer.class.name=dk_plugin.{name}: ")
    assert "\n" not in str(caught.value)
    assert [text in str(caught.value) for text in texts] == [True] * len(texts)


def test_java_class_name_is_recognised() -> None:
    """Python's io is a module: io.confluent is answered as any other name of a Java class."""
    name = "io.confluent.kafka.security.authorizer.ConfluentServerAuthorizer"

    with pytest.raises(UnusableClass, match="found the name of a Java class; expected: a Python"):
        authorizer_class(name)
