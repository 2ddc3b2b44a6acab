"""Mechanisms of a listener, and the users of PLAIN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.config.sasl_keys import SASL_SERVER_CALLBACK_HANDLER_CLASS
from testkit.settings import loaded_from, problems_of, settings_of, warnings_from

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.config.listeners import Listener

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
LISTENER = "listeners=SASL://localhost:1\nlistener.security.protocol.map=SASL:SASL_PLAINTEXT\n"
ENABLED = f"{LISTENER}sasl.enabled.mechanisms=PLAIN\n"
JAAS = "listener.name.sasl.plain.sasl.jaas.config="


def test_plain_users_are_options() -> None:
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LISTENER, "offers GSSAPI, Kafka's default for sasl.enabled.mechanisms, and has no login"),
        (f"{LISTENER}sasl.enabled.mechanisms=PLAIN,DIGEST-MD5", "found DIGEST-MD5 for listener"),
        (f"{LISTENER}sasl.enabled.mechanisms=", "found nothing for listener SASL; allowed: PLAIN,"),
        (ENABLED, f"has no login module for it: give {JAAS}{PLAIN} required user_alice"),
        (f"{ENABLED}sasl.jaas.config={PLAIN} required;", "listener SASL offers PLAIN and has no"),
        (
            f"{ENABLED}{JAAS}{PLAIN}",
            "line 4: listener.name.sasl.plain.sasl.jaas.config: expected REQUIRED",
        ),
        (f"{ENABLED}{JAAS}a required; b required;", "found 2 login modules; allowed: one"),
        (f"{ENABLED}{JAAS}com.example.Ldap required;", f"the login module is not {PLAIN}"),
    ],
)
def test_invalid_sasl_settings_stop_the_start(text: str, said: str) -> None:
    problems = problems_of(text)

    assert [problem for problem in problems if said in problem], problems


def test_errors_hide_passwords() -> None:
    problems = problems_of(f'{ENABLED}{JAAS}{PLAIN} required user_a="s3cret" user_b=s3cret2')

    assert problems
    assert "s3cret" not in "".join(problems)


SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
BLOCK = f"""
KafkaServer {{
    {SCRAM} required username="admin" password="x";
    {PLAIN} required username="admin" user_alice="file";
    {PLAIN} required user_alice="second" user_bob="b";
}};
sasl.KafkaServer {{
}};
other.KafkaServer {{
    {PLAIN} required user_alice="other";
}};
"""
TWO = "listeners=SASL://localhost:1,OTHER://localhost:2\nlistener.security.protocol.map=\\\nSASL:SASL_PLAINTEXT,OTHER:SASL_PLAINTEXT\nsasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256\n"


def users(listener: Listener) -> dict[str, str]:
    """Return the options of a listener's PLAIN."""
    module = next(each for each in listener.mechanisms if each.name == "PLAIN").login_module
    assert module is not None
    return dict(module.options)


def test_listener_section_precedes_the_general_section(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(BLOCK)

    sasl, other = settings_of(f"{TWO}doorkeeper.jaas.file={file}").listeners

    assert users(sasl) == {"username": "admin", "user_alice": "file", "user_bob": "b"}
    assert users(other) == {"user_alice": "other"}
    assert sasl.mechanisms[0].given_as["sasl.jaas.config"] == f"{file} section KafkaServer"
    assert [each.login_module is None for each in sasl.mechanisms] == [False, False]
    assert other.mechanisms[1].login_module is None


def test_key_precedes_the_jaas_file(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(BLOCK)
    text = f"{TWO}doorkeeper.jaas.file={file}\nsasl.jaas.config={PLAIN} required user_x=y;\n"

    ignored = loaded_from(text)
    counts = loaded_from(f'{text}{JAAS}{PLAIN} required user_alice="key";')

    assert users(ignored.settings.listeners[0])["user_alice"] == "file"
    assert users(counts.settings.listeners[0]) == {"user_alice": "key"}
    assert [each for each in warnings_from(text) if "sasl.jaas.config: has no effect" in each]


def test_missing_login_module_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text("KafkaServer { a.B required; };")

    problems = problems_of(f"{ENABLED}doorkeeper.jaas.file={file}")

    assert len(problems) == 1
    assert problems[0].endswith(f"{file} section KafkaServer has no {PLAIN}, for PLAIN")
    assert not problems_of(
        f"{LISTENER}sasl.enabled.mechanisms=SCRAM-SHA-256\ndoorkeeper.jaas.file={file}"
    )


@pytest.mark.parametrize("section", ["", "KafkaServer { a.B required; };"])
def test_callback_handler_replaces_the_login_module(tmp_path: Path, section: str) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(section)
    handler = "listener.name.sasl.plain.sasl.server.callback.handler.class=com.example.C"
    text = f"{ENABLED}{handler}\ndoorkeeper.jaas.file={file}"
    (listener,) = settings_of(text).listeners

    assert listener.mechanisms[0][SASL_SERVER_CALLBACK_HANDLER_CLASS] == "com.example.C"
    assert listener.mechanisms[0].login_module is None


"""The blocks of Kafka's documentation, and their options."""
