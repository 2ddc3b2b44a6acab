"""What all pages of the console share: headers, hosts, hostile names, long lists, sets."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.console.pages import PAGES
from doorkeeper.console.rendering import ROWS, Rows
from doorkeeper.console.texts import KEPT_LENGTH_MAX, KEPT_MAX, Texts
from testkit.consoles import ACLS, HEAD, PORT, console_over, sets_at

Start = Callable[..., TestClient]
PATHS = ["/", *(f"/{page.name}" for page in PAGES)]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A console for tests that only read."""
    acls = tmp_path_factory.mktemp("standing") / "acls.csv"
    acls.write_text(ACLS, encoding="utf-8")
    with console_over(sets_at(acls)) as client:
        yield client


@pytest.mark.parametrize("path", PATHS)
def test_pages_have_security_headers_and_no_inline_code(standing: TestClient, path: str) -> None:
    """The policy allows no inline script or style, and pages have none."""
    answer = standing.get(path)

    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    # With no-referrer browsers send "Origin: null" with forms, and each would be refused.
    assert answer.headers["referrer-policy"] == "same-origin"
    assert re.search(r"<script(?! src=\"/static/)|<style|\sstyle=|\son\w+=", answer.text) is None
    assert re.search(r"(?:src|href|action)=\"(?:https?:)?//", answer.text) is None


@pytest.mark.parametrize("path", PATHS)
def test_fields_have_labels(standing: TestClient, path: str) -> None:
    """Each field has a label of its own, and ids are unique."""
    text = standing.get(path).text
    ids = re.findall(r'\sid="([^"]+)"', text)
    fields = re.findall(
        r'<(?:input|select|textarea)(?![^>]*type="hidden")[^>]*\sid="([^"]+)"', text
    )

    assert len(ids) == len(set(ids))
    assert set(fields) <= set(re.findall(r'<label[^>]* for="([^"]+)"', text))


def test_hostile_names_are_text(console: TestClient) -> None:
    """Tags are escaped, direction marks are visible, a long name is shortened."""
    page = console.get("/who-can", params={"name": "orders"}).text

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page
    assert r"User:\u202eecila" in page
    assert "x" * 200 not in page
    assert "10,005 characters" in page


@pytest.mark.parametrize("host", ["example.com", f"evil.example:{PORT}", "localhost:1", ""])
def test_unknown_hosts_are_refused(console: TestClient, host: str) -> None:
    """A name that leads to the loopback address is not enough (DNS rebinding)."""
    answer = console.get("/", headers={"Host": host})

    assert answer.status_code == 403
    assert f"localhost:{PORT}" in answer.text


def test_other_origins_are_refused(console: TestClient) -> None:
    """Neither a page of another site nor a form without Origin reaches the console."""
    assert console.get("/", headers={"Origin": "http://evil.example"}).status_code == 403
    assert console.get("/", headers={"Origin": "null"}).status_code == 403
    console.headers.pop("Origin")
    assert console.get("/").status_code == 200
    assert console.post("/read-again", data={"set": "x"}).status_code == 403


def test_unknown_pages_are_not_found(console: TestClient) -> None:
    """The answer is a page with the menu."""
    for path in ("/nothing", "/nothing.json", "/who-can/more", "/static/../app.py"):
        answer = console.get(path)

        assert answer.status_code == 404
        assert "app = " not in answer.text


def test_long_lists_have_pages(start: Start, tmp_path: Path) -> None:
    """A page has 50 rows; the others are links, and each principal is on one of them."""
    rows = [f"User:u{number:04},Topic,LITERAL,orders,Read,Allow,*\n" for number in range(120)]
    (tmp_path / "many.csv").write_text(HEAD + "".join(rows), encoding="utf-8")
    console = start(tmp_path / "many.csv")

    pages = [
        console.get("/who-can", params={"name": "orders", "page": number}).text
        for number in (1, 2, 3, 99)
    ]

    shown = [set(re.findall(r"<bdi>(User:u\d{4})", page)) for page in pages]
    assert [len(names) for names in shown] == [ROWS, ROWS, 20, 20]
    assert len(set().union(*shown)) == 120
    assert 'rel="next"' in pages[0]
    assert 'rel="next"' not in pages[2]
    assert all(len(page.encode()) < 150_000 for page in pages)


def test_the_last_page_answers_for_those_after_it() -> None:
    """A link to a page that a change has taken away shows the last one."""
    rows = Rows(range(7), number=9, size=3)

    assert (list(rows.items), rows.number, rows.first, rows.last) == ([6], 3, 6, 7)
    assert Rows([], number=1).pages == 1


def test_a_changed_file_is_read_again(console: TestClient, acls: Path) -> None:
    """The next answer is about the new ACLs, and an error of the file is shown."""
    before = console.get("/who-can.json", params={"name": "new"}).json()["who"]
    acls.write_text(HEAD + "User:new,Topic,LITERAL,new,Read,Allow,*\n", encoding="utf-8")
    console.get("/who-can")
    after = console.get("/who-can.json", params={"name": "new"}).json()["who"]
    acls.write_text("nonsense", encoding="utf-8")
    os.utime(acls, ns=(1, 1))
    broken = console.get("/who-can", params={"name": "new"})

    assert before == []
    assert [row["principal"] for row in after] == ["User:new"]
    assert broken.status_code == 502
    assert "cannot be read" in broken.text


def test_a_file_that_is_replaced_by_one_of_its_time_and_size_is_read_again(
    console: TestClient, acls: Path
) -> None:
    """As tools that copy do, which set the time of modification."""
    before = acls.stat()
    acls.write_text(acls.read_text("utf-8").replace("orders", "ordera"), encoding="utf-8")
    os.utime(acls, ns=(before.st_atime_ns, before.st_mtime_ns))
    console.get("/who-can")
    who = console.get("/who-can.json", params={"name": "ordera"}).json()["who"]

    assert acls.stat().st_size == before.st_size
    assert "User:alice" in [row["principal"] for row in who]


@pytest.mark.parametrize("text", [None, "doorkeeper.no.such=1\n"])
def test_a_fault_in_a_configuration_is_shown(
    start: Start, tmp_path: Path, acls: Path, text: str | None
) -> None:
    """A file that is removed or broken while the console runs; all other pages go on."""
    file = tmp_path / "server.properties"
    file.write_text(f"doorkeeper.data.dir={tmp_path / 'data'}\n", encoding="utf-8")
    console = start(acls, f"config:{file}")
    file.unlink()
    if text is not None:
        file.write_text(text, encoding="utf-8")
    pages = [console.get("/") for _ in range(2)]
    broken = console.get("/who-can", params={"name": "orders", "set": f"config:{file}"})

    assert [page.status_code for page in pages] == [200, 200]
    assert broken.status_code == 502
    assert "cannot be read" in broken.text
    assert console.get("/who-can", params={"name": "orders"}).status_code == 200


def test_unread_sets_show_progress(acls: Path) -> None:
    """Until a set is read its pages load again by themselves."""
    sets = sets_at(acls)
    with console_over(sets) as console:
        state = sets.states[str(acls)]
        state.reading, state.is_reading = None, True

        page = console.get("/who-can", params={"name": "orders"})

    assert page.status_code == 200
    assert 'http-equiv="refresh"' in page.text
    assert "Reading" in page.text


def test_several_sets_are_chosen_in_the_form(start: Start, acls: Path, tmp_path: Path) -> None:
    """Each page asks about the set that its field names, the first one without it."""
    other = tmp_path / "other.csv"
    other.write_text(HEAD + "User:zoe,Topic,LITERAL,orders,Read,Allow,*\n", encoding="utf-8")
    console = start(acls, other)

    first = console.get("/who-can", params={"name": "orders"}).text
    second = console.get("/who-can", params={"name": "orders", "set": str(other)}).text

    assert "User:zoe" not in first
    assert "User:zoe" in second


def test_texts_are_forgotten_in_order() -> None:
    """The newest texts are kept; a secret one never stands in its mark."""
    texts = Texts()
    marks = [texts.keep(f"secret {number}", is_secret=True) for number in range(KEPT_MAX + 1)]

    assert texts.text(marks[-1]) == f"secret {KEPT_MAX}"
    with pytest.raises(KeyError):
        texts.text(marks[0])
    assert not any("secret" in mark for mark in marks)


def test_kept_texts_are_bounded_by_their_length() -> None:
    """Few texts that are as long as a form give way, too."""
    texts = Texts()
    marks = [texts.keep("x" * (KEPT_LENGTH_MAX // 2)) for _ in range(3)]

    assert texts.text(marks[2]) == texts.text(marks[1])
    with pytest.raises(KeyError):
        texts.text(marks[0])


def test_a_taken_port_is_named(acls: Path) -> None:
    """The process ends with the port and the option that chooses another one."""
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(doorkeeper, ["console", str(acls), "--port", str(port)])

    assert result.exit_code == 1
    assert f":{port}: the port is in use" in result.stderr
    assert "--port" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_a_signal_ends_the_process_with_status_0(acls: Path, number: signal.Signals) -> None:
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "doorkeeper", "console", str(acls), f"--port={port}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            for _ in range(600):
                with contextlib.suppress(OSError), urlopen(f"http://localhost:{port}/") as page:
                    assert page.status == 200
                    break
                time.sleep(0.1)
            process.send_signal(number)
            rest = process.stderr.read()
        finally:
            if process.poll() is None and sys.exc_info()[0] is not None:
                process.kill()

    assert line == f"doorkeeper: the console is at http://localhost:{port}; Ctrl-C stops it\n"
    assert (process.returncode, rest) == (0, "")


def test_too_many_fields_are_refused(console: TestClient) -> None:
    """As fields of links and of forms: reading them all would take long."""
    many = "&".join(["name=x"] * 3_000)

    for answer in (console.get(f"/who-can?{many}"), console.post("/why", content=many)):
        assert answer.status_code == 400
        assert "at most 2000 fields" in answer.text


def test_static_files_are_kept_by_the_browser_until_they_change(console: TestClient) -> None:
    """Their links have the time of the newest: after an upgrade no style of before is shown."""
    (link,) = re.findall(r'href="(/static/console.css\?[0-9a-f]{1,8})"', console.get("/").text)
    answer = console.get(link)

    assert answer.headers["cache-control"] == "max-age=86400"
    assert answer.headers["content-type"].startswith("text/css")
