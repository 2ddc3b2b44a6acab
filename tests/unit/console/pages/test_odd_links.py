"""Links that no form of the console makes: each is a page with the reason, never a fault."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/whoami?credential=cert&text=text:gone", 400, "no longer has the text"),
        ("/drift?with=nowhere", 400, "found the address &#39;nowhere&#39;"),
        ("/who-can?kind=user-principal&name=User:a&operation=CreateTokens", 200, "User:a"),
        ("/who-can?kind=delegation-token&name=x&operation=Describe", 200, "--delegation-token=x"),
        ("/who-can?kind=nothing&name=x", 400, "found the resource type"),
        ("/what-if?principal=User:a&kind=nothing&name=x", 200, "resource type: found"),
    ],
)
def test_odd_links(console: TestClient, path: str, status: int, text: str) -> None:
    page = console.get(path)

    assert page.status_code == status
    assert text in page.text


def test_pasted_line_about_a_user(console: TestClient) -> None:
    """Its resource is the option --user-principal, not --user."""
    line = (
        "Principal = User:a is Denied operation = CREATE_TOKENS from host = 10.0.0.1 on resource ="
        " User:LITERAL:User:b for request = CreateDelegationToken with resourceRefCount = 1 based"
        " on rule DefaultDeny"
    )

    page = console.get("/why", params={"line": line}).text

    assert "There is no answer" not in page
    assert "--user-principal=User:b" in page
