"""Where the console may be served, and who may log in with a password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient

from doorkeeper.console.login.exposure import exposure_of
from doorkeeper.console.login.routes import local_path
from doorkeeper.console.login.sessions import SESSION_S, SESSIONS_OF_USER_MAX, Role, Sessions
from doorkeeper.console.login.users import FAILURES_MAX, UsersLogin
from doorkeeper.server.runtime.logger import NO_LOG
from doorkeeper.server.security.users_file import delete_user, set_user
from testkit.certificates import world
from testkit.consoles import PORT, console_over, options, sets_at
from testkit.tls import client_context, shaken

URL = "https://console.example:9480"


@pytest.fixture
def tls(tmp_path: Path) -> list[str]:
    server = world().server
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    certificate.write_text(server.chain_pem, encoding="ascii")
    key.write_text(server.key_pem(), encoding="ascii")
    return [f"--tls-certificate={certificate}", f"--tls-key={key}"]


@pytest.fixture
def users(tmp_path: Path) -> list[str]:
    for role, name, password in (
        ("viewers", "vera", "secret v"),
        ("operators", "olga", "secret o"),
    ):
        set_user(tmp_path / role, name, password, bytes(16))
    return [f"--{role}={tmp_path / role}" for role in ("viewers", "operators")]


@pytest.fixture
def console(acls: Path, tls: list[str], users: list[str]) -> Iterator[TestClient]:
    words = ["--bind=0.0.0.0", f"--url={URL}", *tls, *users]
    with console_over(sets_at(acls), exposure=exposure_of(options(*words))) as client:
        yield client


def log_in(console: TestClient, name: str, password: str, path: str = "/") -> int:
    fields = {"name": name, "password": password, "next": path}
    return console.post("/login", data=fields, follow_redirects=False).status_code


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "acls.example"])
def test_other_machines_need_tls_and_a_login(host: str, tls: list[str], users: list[str]) -> None:
    """Each is refused for what it lacks, with the options that give it."""
    for words, reason in (
        ([], "--tls-certificate"),
        (users, "--tls-certificate"),
        (tls, "a login: --oidc-issuer"),
        ([*tls, *users], "--url"),
    ):
        with pytest.raises(click.UsageError, match=reason):
            exposure_of(options(f"--bind={host}", *words))

    found = exposure_of(options(f"--bind={host}", f"--url={URL}", *tls, *users))
    assert found.hosts == {"console.example:9480"}


def test_wrong_options_are_refused(tls: list[str], tmp_path: Path) -> None:
    """Those that have no effect alone, and those with which nobody could log in."""
    file = tmp_path / "file"
    file.write_text("nobody\n", encoding="utf-8")
    issuer = "--oidc-issuer=https://idp.example"
    for words in (
        [tls[0]],
        ["--url=https://console.example"],
        ["--oidc-client=c"],
        [issuer],
        [issuer, "--oidc-client=c"],
        [issuer, "--oidc-client=c", "--oidc-viewer=sub"],
        ["--oidc-issuer=http://idp.example", "--oidc-client=c", "--oidc-viewer=sub=*"],
    ):
        with pytest.raises(click.UsageError):
            exposure_of(options(*words))
    with pytest.raises(ValueError, match="line 1: not a password hash"):
        exposure_of(options(f"--viewers={file}"))
    with pytest.raises(ValueError, match="no certificate, or an encrypted key"):
        exposure_of(options(f"--tls-certificate={file}", f"--tls-key={file}"))


def test_new_connections_get_the_certificate_that_the_file_has_now(
    tls: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new certificate without its key is reported, and the one before stays in use."""
    contexts = exposure_of(options(*tls)).tls
    new = world().authority.server()
    assert contexts is not None

    def presented() -> bytes | None:
        return shaken(contexts.current(), client_context())[1].getpeercert(binary_form=True)

    seen = [presented()]
    (tmp_path / "server.pem").write_text(new.chain_pem, encoding="ascii")
    seen.append(presented())
    (tmp_path / "server.key").write_text(new.key_pem(), encoding="ascii")
    seen.append(presented())

    assert seen == [world().server.der, world().server.der, new.der]
    assert "key values mismatch" in capsys.readouterr().err


def test_on_loopback_nobody_logs_in(acls: Path) -> None:
    """Whoever reaches it is the operator, and no cookie is set."""
    with console_over(sets_at(acls)) as console:
        answer = console.get("/")

    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert "Log out" not in answer.text


def test_pages_need_a_login(console: TestClient) -> None:
    """Pages lead to it, JSON and forms are refused, HTMX leaves the page."""
    page = console.get("/who-can?name=orders", follow_redirects=False)

    assert page.headers["location"] == "/login?next=%2Fwho-can%3Fname%3Dorders"
    assert console.get("/who-can.json").status_code == 401
    assert console.get("/login-x", follow_redirects=False).status_code == 303
    assert console.post("/read-again", data={"set": "x"}).status_code == 401
    assert console.get("/", headers={"HX-Request": "true"}).headers["hx-redirect"] == "/login"
    assert "orders" not in console.get("/login").text
    assert console.get("/static/console.css").status_code == 200


def test_passwords_give_sessions(console: TestClient) -> None:
    """The cookie is __Host-, Secure, HttpOnly and SameSite=Lax; the browser is to come by TLS."""
    fields = {"name": "vera", "password": "secret v", "next": "/why"}
    answer = console.post("/login", data=fields, follow_redirects=False)
    page = console.get("/")

    assert answer.headers["location"] == "/why"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-doorkeeper=")
    for word in ("HttpOnly", "Secure", "Path=/", "SameSite=lax", f"Max-Age={int(SESSION_S)}"):
        assert word in cookie
    assert "domain" not in cookie.lower()
    assert "strict-transport-security" in answer.headers
    assert "vera</bdi>, viewer" in page.text
    assert "secret v" not in page.text


def test_wrong_passwords_are_refused(console: TestClient) -> None:
    """Neither another's password nor a name with a colon; many failures have to wait."""
    wrong = [("vera", "secret o"), ("vera", ""), ("", ""), ("vera:secret v", ""), ("nobody", "x")]

    assert [log_in(console, *one) for one in wrong] == [401] * len(wrong)
    assert [log_in(console, "x", "y") for _ in range(FAILURES_MAX)][-1] == 429
    assert log_in(console, "vera", "secret v") == 429


def test_logging_out_ends_the_session(console: TestClient) -> None:
    """With the token of the page alone; the cookie is worth nothing afterwards."""
    log_in(console, "olga", "secret o")
    page, cookies = console.get("/").text, dict(console.cookies)
    csrf = page.split('name="csrf" value="')[1].split('"')[0]

    assert "olga</bdi>, operator" in page
    assert console.post("/logout", data={"csrf": "x"}).status_code == 403
    assert console.post("/logout", data={"csrf": csrf}).url.path == "/login"
    console.cookies.update(cookies)
    assert console.get("/who-can.json").status_code == 401


def test_other_hosts_and_origins_are_refused(console: TestClient) -> None:
    """Only the address of --url is known, with its scheme."""
    log_in(console, "olga", "secret o")

    for headers in (
        {"Host": f"localhost:{PORT}"},
        {"Host": "console.example"},
        {"Origin": "http://console.example:9480"},
    ):
        assert console.get("/", headers=headers).status_code == 403
    console.headers.pop("Origin")
    assert console.post("/login", data={"name": "vera", "password": "secret v"}).status_code == 403


def test_sessions_end() -> None:
    """After their time, whatever the browser keeps."""
    now_s = [0.0]
    sessions = Sessions(is_secure=True, now_s=lambda: now_s[0])
    answer = Response()
    sessions.begin("vera", Role.VIEWER, answer, lambda: True)
    cookie = answer.headers["set-cookie"].split(";")[0].encode()
    request = Request({"type": "http", "headers": [(b"cookie", cookie)]})

    assert sessions.of(request) is not None
    now_s[0] = SESSION_S
    assert sessions.of(request) is None


def test_the_higher_role_counts(tmp_path: Path) -> None:
    """Of a user in both files."""
    file = tmp_path / "users"
    set_user(file, "olga", "x", bytes(16))

    roles = []
    for files in ({Role.VIEWER: file}, dict.fromkeys(Role, file)):
        user = UsersLogin(files, NO_LOG).user_of("olga", "x")
        roles.append(user and user.role)

    assert roles == [Role.VIEWER, Role.OPERATOR]


def test_sessions_end_with_their_user(console: TestClient, tmp_path: Path) -> None:
    """When it is deleted, has another password, or another role; those of others go on."""
    operators, viewers = tmp_path / "operators", tmp_path / "viewers"
    set_user(operators, "otto", "secret", bytes(16))
    set_user(viewers, "vito", "secret", bytes(16))
    seen = []
    for name, password, end in (
        ("otto", "secret", lambda: delete_user(operators, "otto")),
        ("olga", "secret o", lambda: set_user(operators, "olga", "new", bytes(16))),
        ("vito", "secret", lambda: set_user(operators, "vito", "secret", bytes(16))),
        ("vito", "secret", lambda: delete_user(operators, "vito")),
    ):
        console.cookies.clear()
        log_in(console, name, password)
        before = console.get("/who-can.json").status_code
        end()
        seen.append((before, console.get("/who-can.json").status_code))

    # The third is a viewer still, until the next login.
    assert seen == [(400, 401), (400, 401), (400, 400), (400, 401)]


def test_a_faulty_file_of_users_changes_nothing(
    console: TestClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be half written: who is logged in stays so, and the fault is reported once."""
    log_in(console, "vera", "secret v")
    (tmp_path / "viewers").write_text("vera", encoding="utf-8")
    answers = [console.get("/who-can.json").status_code for _ in range(2)]

    assert answers == [400, 400]
    assert capsys.readouterr().err.count("not a password hash") == 1
    assert log_in(console, "vera", "secret v") == 303


def test_one_user_does_not_log_out_others() -> None:
    """Of very many sessions of a user the oldest end."""
    sessions = Sessions(is_secure=True)

    def begun(user: str) -> Request:
        answer = Response()
        sessions.begin(user, Role.VIEWER, answer, lambda: True)
        cookie = answer.headers["set-cookie"].split(";")[0].encode()
        return Request({"type": "http", "headers": [(b"cookie", cookie)]})

    other = begun("olga")
    mine = [begun("vera") for _ in range(SESSIONS_OF_USER_MAX + 1)]

    assert sessions.of(other) is not None
    assert [sessions.of(one) is not None for one in mine] == [False] + [True] * (len(mine) - 1)


@pytest.mark.parametrize(
    "path",
    ["https://evil.example", "//evil.example", "/\\evil.example", "/a\r\nb", "", "a", "/\t/x"],
)
def test_the_way_back_stays_here(path: str) -> None:
    """What is no path of this console leads to its first page."""
    assert local_path(path) == "/"
    assert local_path("/who-can?name=a%20b&x=1") == "/who-can?name=a%20b&x=1"
