"""Mechanisms of a listener, and the users of PLAIN."""

from __future__ import annotations

import pytest

from testkit.settings import problems_of, settings_of

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
LISTENER = "listeners=SASL://localhost:1\nlistener.security.protocol.map=SASL:SASL_PLAINTEXT\n"
ENABLED = f"{LISTENER}sasl.enabled.mechanisms=PLAIN\n"
JAAS = "listener.name.sasl.plain.sasl.jaas.config="


def test_users_are_the_options_user_name() -> None:
    """Each option ``user_NAME`` is a user; username and password are those of the broker."""
    (listener,) = settings_of(
        f'{ENABLED}{JAAS}{PLAIN} required username="b" password="x" user_alice="a b" user_="e";'
    ).listeners

    assert listener.authenticates
    (plain,) = listener.mechanisms
    assert (plain.name, plain.listener_name) == ("PLAIN", listener.name)
    assert plain.login_module is not None
    assert plain.login_module.options.items() >= {"user_alice": "a b", "user_": "e"}.items()
    assert "a b" not in repr(listener)


def test_mechanisms_of_the_listener_come_first() -> None:
    """The prefixed key counts before the one of the server."""
    settings = settings_of(
        f"{LISTENER}sasl.enabled.mechanisms=GSSAPI\n"
        f"listener.name.sasl.sasl.enabled.mechanisms=PLAIN\n{JAAS}{PLAIN} required;\n"
        "listener.name.sasl.plain.connections.max.reauth.ms=5000"
    )

    (plain,) = settings.listeners[0].mechanisms
    assert (plain.name, plain.max_reauth_ms) == ("PLAIN", 5000)


def test_a_listener_without_sasl_needs_none_of_it() -> None:
    """GSSAPI, Kafka's default, is no problem where no listener uses SASL."""
    assert settings_of("listeners=PLAINTEXT://localhost:1").listeners[0].mechanisms == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LISTENER, "would offer GSSAPI, Kafka's default; this version supports PLAIN"),
        (f"{LISTENER}sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256", "found SCRAM-SHA-256 for"),
        (f"{LISTENER}sasl.enabled.mechanisms=", "found nothing for listener SASL"),
        (ENABLED, f"listener SASL has no users: give {JAAS}{PLAIN} required"),
        (f"{ENABLED}sasl.jaas.config={PLAIN} required;", "listener SASL has no users"),
        (f"{ENABLED}{JAAS}{PLAIN}", "line 4: listener.name.sasl.plain.sasl.jaas.config: REQUIRED"),
        (f"{ENABLED}{JAAS}a required; b required;", "found 2 login modules; allowed: one"),
        (f"{ENABLED}{JAAS}com.example.Ldap required;", f"the login module is not {PLAIN}"),
        (
            f"{ENABLED}listener.name.sasl.plain.sasl.server.callback.handler.class=com.example.C",
            "found 'com.example.C'; allowed:",
        ),
    ],
)
def test_what_is_not_supported_stops_the_start(text: str, said: str) -> None:
    """Each problem says in one line what this version supports."""
    problems = problems_of(text)

    assert [problem for problem in problems if said in problem], problems


def test_no_problem_shows_a_password() -> None:
    """A broken JAAS entry is told without a piece of it."""
    problems = problems_of(f'{ENABLED}{JAAS}{PLAIN} required user_a="s3cret" user_b=s3cret2')

    assert problems
    assert "s3cret" not in "".join(problems)
