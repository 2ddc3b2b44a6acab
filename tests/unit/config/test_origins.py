"""Where each value comes from."""

from __future__ import annotations

from doorkeeper.config.dynamic_values import DynamicValues
from doorkeeper.config.loading import resolve
from doorkeeper.config.origins import origins_of
from testkit.settings import settings_of


def test_a_dynamic_value_comes_last_and_counts() -> None:
    """It is told as one, over the file's."""
    settings = resolve(
        settings_of("max.connections=5").given, DynamicValues({"max.connections": "6"})
    )

    (row,) = [row for row in origins_of(settings.settings) if row.key == "max.connections"]

    assert row == ("max.connections", "6", "the dynamic value of this broker", True)


def test_every_key_with_an_effect_is_told() -> None:
    """Given or not, sorted."""
    rows = origins_of(settings_of(""))

    names = [row.key for row in rows]
    assert names == sorted(names)
    assert {"listeners", "super.users", "sasl.jaas.config", "doorkeeper.store"} <= set(names)


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
