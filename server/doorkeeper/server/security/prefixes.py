"""The configuration of a plug-in: all keys, and those of its listener also without their prefix.

    listener.name.clients.ldap.url          ldap.url, for everything on the listener CLIENTS
    listener.name.clients.plain.ldap.url    ldap.url, for PLAIN on it: takes precedence

The prefix is in lower case; with any other spelling a key has no effect.

Source: ``valuesWithPrefixOverride`` of Kafka's ``AbstractConfig``.
"""

from __future__ import annotations

from collections.abc import Mapping


def configs_of(
    originals: Mapping[str, str], listener_name: str, mechanism: str = ""
) -> dict[str, str]:
    """Return all keys; those of a listener, and of a mechanism on it, without the prefix too."""
    of_listener = f"listener.name.{listener_name.lower()}."
    # The prefix of the mechanism comes last, and overrides that of the listener.
    prefixes = [of_listener]
    if mechanism:
        prefixes.append(f"{of_listener}{mechanism.lower()}.")
    configs = dict(originals)
    for prefix in prefixes:
        for key, value in originals.items():
            if key.startswith(prefix):
                configs[key[len(prefix) :]] = value
    return configs
