"""Values that are given while the server runs."""

from __future__ import annotations

import pytest

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.server.config.keys import MAX_CONNECTIONS, SUPER_USERS
from doorkeeper.server.config.loading import resolve, with_stored_values
from doorkeeper.server.config.settings import ConfigSource, DynamicValues, is_dynamic_source
from testkit.settings import settings_of

FILE = "max.connections=10\nsuper.users=User:a"
BOTH = DynamicValues({"max.connections": "30"}, {"max.connections": "20", "super.users": "User:b"})


def test_dynamic_values_override_the_file() -> None:
    settings = resolve(settings_of(FILE).static, BOTH)

    assert settings[MAX_CONNECTIONS] == 30
    assert settings[SUPER_USERS] == "User:b"
    assert settings.originals == {"max.connections": "30", "super.users": "User:b"}
    assert [(each.value, each.source) for each in settings.values_of("max.connections")] == [
        ("30", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("20", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("10", ConfigSource.STATIC_BROKER_CONFIG),
    ]


def test_invalid_dynamic_value_is_rejected() -> None:
    with pytest.raises(ConfigError) as refused:
        resolve(settings_of(FILE).static, DynamicValues({"max.connections": "x"}))

    (problem,) = refused.value.problems
    assert is_dynamic_source(problem.source)
    assert problem.key == "max.connections"


def test_stored_value_that_became_invalid_is_ignored() -> None:
    values = DynamicValues({"max.connections": "x"}, {"super.users": "User:b"})

    settings, problems = with_stored_values(settings_of(FILE), values)

    assert (settings[MAX_CONNECTIONS], settings[SUPER_USERS]) == (10, "User:b")
    assert [problem.key for problem in problems] == ["max.connections"]


def test_cluster_secrets_have_no_value() -> None:
    dynamic = DynamicValues({}, {"com.example.password": "s3cret"})

    rows = resolve((), dynamic).describe_cluster()

    assert rows[0].name == "com.example.password"
    assert rows[0].sensitive
    assert "s3cret" not in repr(rows)
