"""Where each value comes from."""

from __future__ import annotations

from doorkeeper.config.origins import origins_of
from testkit.settings import settings_of


def test_a_login_in_a_url_is_hidden() -> None:
    """In what config show prints and in what DescribeConfigs answers; the server uses it whole."""
    key = "sasl.oauthbearer.jwks.endpoint.url"
    settings = settings_of(f"{key}=https://door:hush@idp.example/keys?a=@b")
    shown = "https://[hidden]@idp.example/keys?a=@b"

    (row,) = [each for each in origins_of(settings) if each.key == key]
    (described,) = [each for each in settings.describe() if each.name == key]

    assert row.value == described.value == shown
    assert "hush" not in str(described)
    assert settings.originals[key].startswith("https://door:hush@")
