"""Principals of authorizers' logs: what ACLs have, or what else they may mean."""

from __future__ import annotations

import pytest

from doorkeeper.acls.formats.authorizer_message import Bad, Message, read
from doorkeeper.acls.formats.logged_principals import LoggedPrincipal
from doorkeeper.acls.formats.logged_principals import read as principal_of

DN = "User:CN=svc, OU=pay, O=Acme"


@pytest.mark.parametrize(
    ("text", "principal"),
    [
        ("User:svc", "User:svc"),
        ("User:svc (old)", "User:svc (old)"),
        ("Role:pay", "Role:pay"),
        ("User:CN=svc,OU=pay", "User:CN=svc,OU=pay"),
        ("User:", "User:"),
        ("OAuthKafkaPrincipal(User:svc, session:1000, token:eyJh**8V6A)", "User:svc"),
        ("OAuthKafkaPrincipal(User:svc, groups: [a, b], session:1, token:e**A)", "User:svc"),
        ("OAuthKafkaPrincipal(User:svc, groups: null, session: 3, token: x)", "User:svc"),
        ("OAuthKafkaPrincipal(User:svc, session:, token:)", "User:svc"),
        (f"OAuthKafkaPrincipal({DN}, session:1, token:x)", DN),
        ("OAuthKafkaPrincipal(User:svc)", "User:svc"),
        ("io.acme.P$Q(Service:svc, tenant: a)", "Service:svc"),
        ("AcmePrincipal[User:svc, tenant=a]", "User:svc"),
        ("AcmePrincipal{User:a b, tenant=a, roles=[x, y]}", "User:a b"),
    ],
)
def test_read_unambiguous_principals(text: str, principal: str) -> None:
    """Type and name are what Kafka decides by; the rest of an object is left out."""
    assert principal_of(text) == LoggedPrincipal(principal)


@pytest.mark.parametrize(
    ("text", "principal", "alternatives"),
    [
        ("user:svc", "user:svc", {"User:svc"}),
        ("USER:svc", "USER:svc", {"User:svc"}),
        ("User:svc\u200b", "User:svc\u200b", {"User:svc"}),
        ("User:\ufeffsvc", "User:\ufeffsvc", {"User:svc"}),
        ("User:svc\u00a0", "User:svc\u00a0", {"User:svc"}),
        ("User:\u202esvc", "User:\u202esvc", {"User:svc"}),
        ("user: svc ", "user: svc ", {"user:svc", "User:svc"}),
        ("User:svc,Roles:a,b", "User:svc,Roles:a,b", {"User:svc"}),
        ("X(User:svc\u200b, session:1)", "User:svc\u200b", {"User:svc"}),
        # Without one reading there is no principal.
        ("\u200bUser:svc", "", {"User:svc"}),
        ("svc", "", {"User:svc"}),
        ("CustomPrincipal{token=x} User:svc", "", {"User:svc"}),
        ("P(principal=User:svc, session=1)", "", {"User:svc"}),
        ("P[type=User, name=svc]", "", {"User:svc"}),
        ("com.acme.P@1f2e3d", "", {"User:com.acme.P@1f2e3d"}),
        ("", "", set()),
    ],
)
def test_ambiguous_principals_list_all_readings(
    text: str, principal: str, alternatives: set[str]
) -> None:
    assert principal_of(text) == LoggedPrincipal(principal, frozenset(alternatives))


@pytest.mark.parametrize(
    "text",
    [
        "OAuthKafkaPrincipal(User:svc, session:7, session:1, token:x)",
        "OAuthKafkaPrincipal(User:svc, a=b, session:1, token:x)",
        "P(User:CN=svc, OU=pay)",
    ],
)
def test_names_that_contain_field_syntax(text: str) -> None:
    found = principal_of(text)

    assert found.principal == ""
    assert any(each in ("User:svc", "User:CN=svc") for each in found.alternatives)
    assert len(found.alternatives) > 1


def test_principal_is_resolved_with_the_acl_in_the_rule() -> None:
    acl = (
        "resourceType=TOPIC, resourceName=t, patternType=LITERAL, principal=User:svc, host=*,"
        " operation=READ, permissionType=ALLOW"
    )
    line = (
        r"Principal = P(User:svc, session:1) is Allowed operation = READ from host = \/10.0.0.7 on"
        " resource = Topic:LITERAL:t for request = Fetch with resourceRefCount = 1 based on rule"
        f" MatchingAcl(acl=StandardAcl[{acl}])"
    )

    found = read("DEBUG", line)

    assert isinstance(found, Message)
    assert (found.principal, found.host, found.rule_binding) == ("User:svc", "10.0.0.7", acl)
    assert isinstance(read("DEBUG", line.replace("P(User:svc, session:1)", "svc")), Bad)
