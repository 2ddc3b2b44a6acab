"""The secret of delegation tokens, and what is odd about it."""

from __future__ import annotations

from testkit.settings import loaded_from, problems_of, settings_of

SASL = """
listeners=L://localhost:0
listener.security.protocol.map=L:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.l.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \
  required user_a="b";
"""


def test_a_secret_is_never_shown() -> None:
    """Not in a repr, and not to who describes the node."""
    settings = settings_of(SASL + "delegation.token.secret.key=hush-hush")

    assert settings.delegation_token_secret_key == "hush-hush"
    assert "hush-hush" not in repr(settings)
    assert "hush-hush" not in repr(settings.describe())
    assert loaded_from(SASL + "delegation.token.secret.key=hush-hush").warnings == ()


def test_the_older_name_counts_where_the_newer_is_absent() -> None:
    """It is deprecated, which is worth a warning that does not show it."""
    older = loaded_from(SASL + "delegation.token.master.key=hush-hush")
    both = loaded_from(
        SASL + "delegation.token.master.key=hush-hush\ndelegation.token.secret.key=newer"
    )

    assert older.settings.delegation_token_secret_key == "hush-hush"
    assert both.settings.delegation_token_secret_key == "newer"
    (warning,) = older.warnings
    assert warning.endswith(
        "delegation.token.master.key is deprecated: use delegation.token.secret.key"
    )
    assert "hush-hush" not in repr(older.settings.describe())


def test_a_secret_without_scram_is_worth_a_warning() -> None:
    """Nobody can log in with a token then."""
    (warning,) = loaded_from("delegation.token.secret.key=hush-hush").warnings

    assert "no listener offers SCRAM" in warning
    assert "hush-hush" not in warning
    assert loaded_from("delegation.token.secret.key=").warnings == ()


def test_times_are_at_least_one() -> None:
    """As a broker wants them."""
    for name in ("max.lifetime", "expiry.time", "expiry.check.interval"):
        (problem,) = problems_of(f"delegation.token.{name}.ms=0")
        assert f"delegation.token.{name}.ms" in problem
