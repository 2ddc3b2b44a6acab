"""Where ACLs are, as one word each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from doorkeeper.acl.applying import apply
from doorkeeper.acl.formats.choosing import Format, write
from doorkeeper.acl.model import AclOperation
from doorkeeper.acl.planning import plan
from doorkeeper.cli.acls.places import Changeable, Place, at, completed, place_of, read
from doorkeeper.cli.acls.sources import SourceError
from doorkeeper.client import AdminClient
from testkit.acl import READ, allow, deny, topic

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.acl.applying import Outcome
    from doorkeeper.acl.model import AclBinding

A, B = allow("a", READ, topic("t")), deny("b", READ, topic("u"))


@pytest.mark.parametrize(
    ("word", "live", "changed"),
    [
        ("acls.yaml", False, False),
        ("-", False, False),
        ("config:server.properties", False, True),
        ("kafka://a:1,b:2", True, True),
        ("controllers://a:1", True, True),
    ],
)
def test_what_a_word_means(word: str, *, live: bool, changed: bool) -> None:
    """Servers run, stores stand still, files are only read."""
    assert (Place(word).is_live, Place(word).is_changed) == (live, changed)


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("kafka://B:2,a:1", "kafka://a:1,b:2"),
        ("controllers://a:1", "controllers://a:1"),
        ("kafka://b:2,a:1/", "kafka://a:1,b:2"),
        ("config:/x/../y.properties", "config:/y.properties"),
        ("/x/../y.yaml", "/y.yaml"),
        ("-", "-"),
    ],
)
def test_how_a_plan_names_a_place(word: str, named: str) -> None:
    """Words that mean the same give the same name."""
    assert place_of(word) == named


@pytest.mark.parametrize("word", ["localhost:9092", "KAFKA://localhost:9092", "http://a:1/acls"])
def test_what_looks_like_a_server_is_told_how_servers_are_named(word: str) -> None:
    """A file of such a name is read all the same."""
    with pytest.raises(SourceError) as caught:
        read(Place(word))

    assert str(caught.value) == (
        f"{word}: there is no such file; a server is kafka://HOST:PORT or controllers://HOST:PORT,"
        " the store of a stopped one config:FILE"
    )


def test_a_file_with_a_colon_in_its_name(tmp_path: Path) -> None:
    """It is one like any other."""
    file = tmp_path / "localhost:9092"
    file.write_text(write([A], Format.YAML))

    assert read(Place(str(file))) == [A]


def test_a_slash_behind_a_server_is_no_part_of_it() -> None:
    """People copy it from a browser: the port is what fails, not its form."""
    with pytest.raises(SourceError) as caught:
        read(Place("kafka://127.0.0.1:1/", None))

    assert "127.0.0.1:1/" not in str(caught.value).removeprefix("kafka://127.0.0.1:1/")


def test_files_are_completed_behind_the_word_of_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other place is left to the shell."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.properties").touch()
    context, parameter = click.Context(click.Command("any")), click.Argument(["place"])

    behind = completed(context, parameter, "config:s")
    alone = completed(context, parameter, "s")

    assert [(each.type, each.value) for each in behind] == [("plain", "config:server.properties")]
    assert [(each.type, each.value) for each in alone] == [("file", "s")]


def test_a_file_is_read(tmp_path: Path) -> None:
    """In any format; what is wrong with it is said."""
    file = tmp_path / "acls.csv"
    file.write_text(write([A, B], Format.CSV))

    assert read(Place(str(file))) == [A, B]
    with pytest.raises(SourceError, match="No such file"):
        read(Place(str(tmp_path / "none.csv")))


def test_a_store_is_changed_and_read(tmp_path: Path) -> None:
    """The store of a server that never ran is made; a plan leads where it says."""
    file = tmp_path / "server.properties"
    file.write_text(
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"doorkeeper.data.dir={tmp_path / 'data'}\n"
    )
    place = Place(f"config:{file}")

    async def work(there: Changeable) -> Outcome:
        assert there.present == []
        added = await apply(plan([], [A, B]), there.target)
        removed = await apply(plan([A], []), there.target)
        return added._replace(removed=removed.removed)

    with pytest.raises(SourceError, match="there is no store"):
        read(place)
    outcome = at(place, work, make_store=True)

    assert (outcome.added, outcome.removed, outcome.failed) == (2, 1, ())
    assert read(place) == [B]


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    """One line with the address; a file of properties that is wrong is told first."""
    quick = tmp_path / "client.properties"
    quick.write_text("default.api.timeout.ms=50\n")
    wrong = tmp_path / "wrong.properties"
    wrong.write_text("security.protocol=TCP\n")

    with pytest.raises(SourceError, match=r"kafka://127\.0\.0\.1:1: 127\.0\.0\.1:1: "):
        read(Place("kafka://127.0.0.1:1", quick))
    with pytest.raises(SourceError, match=r"security\.protocol: found TCP"):
        read(Place("kafka://127.0.0.1:1", wrong))


def test_what_a_newer_server_knows_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """ACLs of unknown operations are in no export and no plan; how many is told."""
    unknown = B._replace(entry=B.entry._replace(operation=AclOperation(0)))

    async def describe_acls(_admin: AdminClient) -> list[AclBinding]:
        return [A, unknown]

    monkeypatch.setattr(AdminClient, "describe_acls", describe_acls)

    assert read(Place("kafka://localhost:1")) == [A]
    assert "1 ACLs of the server are left out and left alone" in capsys.readouterr().err
