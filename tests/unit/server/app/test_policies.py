"""Policies that can be used, and what is said of others."""

from __future__ import annotations

import pytest

from doorkeeper.plugins import AlterConfigPolicy, ConfigAlteration, CreateTopicPolicy
from doorkeeper.server.app.policies import ALTER_CONFIG, CREATE_TOPIC, policy_of
from testkit.policies import Topics

HERE = __name__


class Configured(AlterConfigPolicy):
    """Takes a key of its own."""

    def configure(self, configs: dict[str, str]) -> None:  # type: ignore[override]
        self.limit = int(configs["policy.limit"])

    def validate(self, request: ConfigAlteration) -> None:
        raise NotImplementedError


class Raising(Configured):
    """Fails in a way of its own."""

    def configure(self, configs: dict[str, str]) -> None:  # type: ignore[override]
        raise LookupError("no\nluck")


class Awaited(CreateTopicPolicy):
    """Would never be awaited."""

    async def validate(self, request: object) -> None:  # type: ignore[override]
        raise NotImplementedError


class Unfinished(CreateTopicPolicy):
    """Lacks its method."""


def test_policies_are_loaded() -> None:
    """By the path of a class, with every key; without a name there is none."""
    originals = {CREATE_TOPIC.key: " testkit.policies.Topics ", ALTER_CONFIG.key: ""}
    keys = {ALTER_CONFIG.key: f"{HERE}:Configured", "policy.limit": "7"}
    configured = policy_of(ALTER_CONFIG, keys)

    assert isinstance(policy_of(CREATE_TOPIC, originals), Topics)
    assert policy_of(ALTER_CONFIG, originals) is None
    assert isinstance(configured, Configured)
    assert configured.limit == 7


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "testkit.policies.Configs",
            "a subclass of doorkeeper.plugins.CreateTopicPolicy",
        ),
        (f"{HERE}.Unfinished", "the class lacks the methods validate"),
        (f"{HERE}.Awaited", "validate is async def; expected: def"),
        ("unheard-of", "found no entry point of this name in doorkeeper.create_topic_policies"),
    ],
)
def test_other_classes_are_rejected(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=rf"^{CREATE_TOPIC.key}={name}: .*{text}"):
        policy_of(CREATE_TOPIC, {CREATE_TOPIC.key: name})


def test_policy_error_text_is_kept() -> None:
    with pytest.raises(ValueError, match=r"^invalid literal for int"):
        policy_of(ALTER_CONFIG, {ALTER_CONFIG.key: f"{HERE}.Configured", "policy.limit": "x"})
    with pytest.raises(ValueError, match=rf"^{ALTER_CONFIG.key}=.*Raising: LookupError: no luck$"):
        policy_of(ALTER_CONFIG, {ALTER_CONFIG.key: f"{HERE}.Raising"})
