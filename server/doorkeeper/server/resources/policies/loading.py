"""Loads the policies that the configuration names.

(empty)                                      none: everything is accepted
package.module.Class, package.module:Class   a class of Python
name                                         an entry point of the groups below
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isabstract
from typing import Final

from doorkeeper.server.config.plug_ins import (
    UnusableClass,
    import_named,
    missing_methods,
    one_line,
    wrong_methods,
)
from doorkeeper.server.resources.policies.contract import AlterConfigPolicy, CreateTopicPolicy

CREATE_TOPIC_KEY: Final = "create.topic.policy.class.name"
ALTER_CONFIG_KEY: Final = "alter.config.policy.class.name"

GROUPS: Final = {
    CREATE_TOPIC_KEY: "doorkeeper.create_topic_policies",
    ALTER_CONFIG_KEY: "doorkeeper.alter_config_policies",
}
"""The group of entry points of each key."""

ARGUMENTS: Final = {"configure": 1, "validate": 1, "close": 0}
"""How many arguments the server passes to each method."""


def create_topic_policy(originals: Mapping[str, str]) -> CreateTopicPolicy | None:
    """Return the configured policy of new topics; None without one.

    Raises:
        ValueError: it cannot be loaded, or rejects its configuration.

    """
    found = _policy(CREATE_TOPIC_KEY, CreateTopicPolicy, originals)
    assert found is None or isinstance(found, CreateTopicPolicy)
    return found


def alter_config_policy(originals: Mapping[str, str]) -> AlterConfigPolicy | None:
    """Return the configured policy of configurations; None without one.

    Raises:
        ValueError: as above.

    """
    found = _policy(ALTER_CONFIG_KEY, AlterConfigPolicy, originals)
    assert found is None or isinstance(found, AlterConfigPolicy)
    return found


def _policy(
    key: str, wanted: type, originals: Mapping[str, str]
) -> CreateTopicPolicy | AlterConfigPolicy | None:
    name = originals.get(key, "").strip()
    if not name:
        return None
    found = import_named(key, name, GROUPS[key], ())
    if not (isinstance(found, type) and issubclass(found, wanted)):
        raise UnusableClass(
            f"{key}={name}: found {found!r}; allowed: a subclass of"
            f" doorkeeper.plugins.{wanted.__name__}"
        )
    if isabstract(found):
        raise UnusableClass(f"{key}={name}: the class lacks the methods {missing_methods(found)}")
    problems = wrong_methods(found, ARGUMENTS)
    if problems:
        raise UnusableClass(f"{key}={name}: {'; '.join(problems)}")
    try:
        policy = found()
        assert isinstance(policy, (CreateTopicPolicy, AlterConfigPolicy))
        policy.configure(originals)
    except ValueError as error:
        # The contract: such a text begins with the key that is wrong.
        raise ValueError(" ".join(str(error).split())) from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"{key}={name}: {one_line(error)}") from error
    return policy
