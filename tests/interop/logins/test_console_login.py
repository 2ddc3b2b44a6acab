"""Logins at the console with Keycloak, in a browser, over TLS: who comes in, and as what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from doorkeeper.console.page import Settings
from testkit.browser import opened
from testkit.certificates import world
from testkit.console_tabs import command
from testkit.consoles import ACLS, served_over, sets_at
from testkit.keycloak import CLIENT, SECRET, keycloak
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from playwright.async_api import Page

COOKIE = "__Host-doorkeeper"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a console that allows changes, with the logins of Keycloak."""
    folder = tmp_path_factory.mktemp("console")
    (folder / "acls.csv").write_text(ACLS, encoding="utf-8")
    store = f"store:{folder / 'data'}"
    command("import", str(folder / "acls.csv"), store)
    (folder / "acls.csv").write_text(ACLS[: ACLS.index("User:bob")], encoding="utf-8")
    (folder / "secret").write_text(SECRET, encoding="ascii")
    (folder / "tls.key").write_text(world().server.key_pem(), encoding="ascii")
    (folder / "tls.pem").write_text(world().server.chain_pem, encoding="ascii")
    with ExitStack() as stack:
        issuer = or_skip(lambda: stack.enter_context(keycloak(folder / "keycloak")))
        words = [
            *(f"--tls-certificate={folder / 'tls.pem'}", f"--tls-key={folder / 'tls.key'}"),
            *(f"--oidc-issuer={issuer}", f"--oidc-client={CLIENT}"),
            *(f"--oidc-secret={folder / 'secret'}", "--oidc-operator=groups=kafka-admins"),
            "--oidc-viewer=groups=staff",
        ]
        sets = sets_at(folder / "acls.csv", store)
        yield stack.enter_context(served_over(sets, Settings(allow_changes=True), *words))


@asynccontextmanager
async def at_keycloak(console: str, **changes: str) -> AsyncIterator[Page]:
    """Open the provider's page in a new browser; parts of its address may be changed before.

    At the end nobody has logged in.
    """
    async with opened() as tab:
        # The answer sets the cookie of this browser.
        answer = await tab.page.request.get(
            f"{console}/login/provider?next=/change", max_redirects=0
        )
        parts = urlsplit(answer.headers["location"])
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert query["code_challenge_method"] == "S256"
        await tab.page.goto(parts._replace(query=urlencode(query | changes)).geturl())
        yield tab.page
        assert COOKIE not in await cookies(tab.page)


async def log_in(page: Page, user: str) -> None:
    """Log in at Keycloak, which leads back."""
    await page.fill("#username", user)
    await page.fill("#password", f"{user}-secret")
    await page.click("#kc-login")
    await page.wait_for_url(lambda url: url.startswith("https://"))


async def cookies(page: Page) -> list[str]:
    """Return the names of the console's cookies, all of which only the console gets."""
    found = await page.context.cookies()
    ours = [one for one in found if COOKIE in one["name"]]
    for one in ours:
        assert (one["secure"], one["httpOnly"], one["sameSite"]) == (True, True, "Lax")
        assert (one["domain"], one["path"]) == ("localhost", "/")
    return [one["name"] for one in ours]


@pytest.mark.parametrize(
    ("user", "role", "reason"),
    [
        ("olga", "operator", "To confirm, type the number of changes"),
        ("vera", "viewer", "Only operators may change something"),
    ],
)
async def test_a_group_gives_a_role_until_the_logout(
    console: str, user: str, role: str, reason: str
) -> None:
    """A link leads to the login and, after it, to its page; the session ends with the logout."""
    async with opened() as tab:
        page = tab.page
        await page.goto(f"{console}/change?whole=1")
        assert urlsplit(page.url).path == "/login"
        await page.click("a.button")
        await log_in(page, user)
        assert page.url == f"{console}/change?whole=1"
        menu, text = await page.inner_text(".who"), await page.inner_text("#answer")
        assert await cookies(page) == [COOKIE]
        session = await page.context.cookies(console)
        await page.click(".who button")
        assert urlsplit(page.url).path == "/login"
        assert await cookies(page) == []
        for one in session:
            await page.context.add_cookies(
                [{"name": one["name"], "value": one["value"], "url": console}]
            )
        await page.goto(f"{console}/who-can")
        after = urlsplit(page.url).path

    assert menu.startswith(f"{user} (")
    assert f", {role}" in menu
    assert reason in text
    assert after == "/login"


async def test_a_user_without_a_group_is_refused(console: str) -> None:
    """Keycloak knows the user, and no option gives a role."""
    async with at_keycloak(console) as page:
        await log_in(page, "nora")
        text = await page.inner_text("main")
        await page.goto(f"{console}/who-can")

        assert "nora (" in text
        assert "has no role here" in text
        assert urlsplit(page.url).path == "/login"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"state": "another"}, "was not begun here"),
        ({"nonce": "another"}, "its nonce is not that of this login"),
        ({"code_challenge": "a" * 43}, "found status 400; expected 200"),
    ],
)
async def test_a_login_that_was_begun_otherwise_is_refused(
    console: str, changes: dict[str, str], reason: str
) -> None:
    """Keycloak answers with what it was sent: another state, nonce or challenge than ours."""
    async with at_keycloak(console, **changes) as page:
        await log_in(page, "olga")
        text = await page.inner_text("main")
        await page.goto(f"{console}/who-can")

        assert reason in text
        assert urlsplit(page.url).path == "/login"


async def test_a_login_counts_in_its_own_browser(console: str) -> None:
    """Whoever sends a victim the answer to their own login is refused: the cookie is missing."""
    async with at_keycloak(console) as page:
        await page.context.clear_cookies(name=f"{COOKIE}-login")
        await log_in(page, "olga")

        assert "was begun in another browser" in await page.inner_text("main")
