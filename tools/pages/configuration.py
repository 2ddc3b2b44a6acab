"""Writes docs/reference/configuration.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.base.key import Applies, Scope
from doorkeeper.server.config.kafka_keys import of_earlier_releases, without_effect
from doorkeeper.server.config.keys import KEYS
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.base.key import Key

PAGE = ROOT / "docs" / "reference" / "configuration.md"

HEAD = """\
# Configuration

Doorkeeper reads a `server.properties` with Kafka's own keys and a few of its own. Made from
the rows of `server/doorkeeper/server/config` by `make generate`; `make check` keeps it
current. `examples/server.properties` is a file to begin with; `doorkeeper config
check FILE` prints every error and warning of one.

    $ doorkeeper serve --override num.partitions=3

- The file has Java's format: ISO 8859-1 with `\\uXXXX`, `\\` continues a line, and the last of
  several entries for a key applies.
- `--override key=value` (repeatable) overrides the file. Environment variables set no
  keys; `DOORKEEPER_JAAS_FILE` and `KRB5_CONFIG` name files.
- **A file is used as it is.** Without `authorizer.class.name` everything is allowed, as in Kafka;
  a warning at the start says how to enable ACLs.
- **With no file** the server is for trying out: `listeners=PLAINTEXT://localhost:9092`, the
  standard authorizer, `super.users=User:ANONYMOUS`. A warning says that everyone on this machine
  is an administrator.
- All errors are reported at once, each with file, line and key, and the status is 1: errors of
  keys and the authorizer, and, if all keys are valid, of mechanisms and certificates.
  `doorkeeper config check` and SIGHUP report the same errors.
- A key of Kafka's that has no effect here is accepted; one warning lists them. A real broker's
  file starts unchanged.
- An unknown key is an error if it starts with `doorkeeper.` or differs from a known key by one or
  two letters. Any other is a warning, since plug-ins receive all keys.
- A Java class that is not Kafka's own, in `principal.builder.class` or
  `sasl.server.callback.handler.class`, is an error, and so are references to config providers
  (`${file:...}`, even if `config.providers` is empty): ignoring them would change who has access.
- A file without any key is a warning, and so is a configuration without an authorizer, which
  allows everything: `doorkeeper config check --strict` fails with either. A binary file, with
  control characters, is refused.
- The rules for listeners are Kafka's, with one exception: if no key names the inter-broker listener
  and none is called PLAINTEXT, it is the first listener for clients.
- Passwords are never printed, logged or described; nor is the text of a JAAS entry that is
  malformed.

**Prefix** lists the allowed prefixes of a key: *listener* is `listener.name.<name in lower case>.`,
*mechanism* also `listener.name.<name>.<mechanism in lower case>.`. The most specific one applies.
*SIGHUP* marks keys that are read again without a restart, and since which release. An error in the
file changes nothing. *dynamic* marks keys that can also be changed by IncrementalAlterConfigs; see
below. A plug-in authorizer can accept new values of any key in both ways.

## Dynamic values

    $ kafka-configs.sh --bootstrap-server localhost:9092 --alter --entity-type brokers \\
        --entity-name 1 --add-config 'super.users=User:ANONYMOUS;User:ops'
    Completed updating config for broker 1.
    $ kafka-configs.sh --bootstrap-server localhost:9092 --describe --entity-type brokers \\
        --entity-name 1
    Dynamic configs for broker 1 are:
      super.users=null sensitive=true synonyms={\
DYNAMIC_BROKER_CONFIG:super.users=null, STATIC_BROKER_CONFIG:super.users=null}
    $ kafka-configs.sh --bootstrap-server localhost:9092 --alter --entity-type brokers \\
        --entity-default --delete-config max.connections.per.ip
    Completed updating default config for brokers in the cluster.

A value comes from the first of: the dynamic value of this broker (`--entity-name`), the dynamic
value of the cluster (`--entity-default`), the overrides, the file, the default. Changing one
needs AlterConfigs on the cluster. The value applies to the next request of every connection and
closes none. The store keeps it with its author, time and address, so it survives restarts and is in
backups. A request with an invalid value is refused as a whole.

- Keys marked *dynamic* and those that a `Reconfigurable` authorizer names change at once. Unknown
  keys reach a plug-in that is not `Reconfigurable` at its next start.
- Kafka's own dynamic keys without effect here are stored and described; all other keys are refused:
  `Cannot update these configs dynamically`.
- Passwords, and so the users of PLAIN, are refused too: they belong in the file.
- `listener.name.<name>.max.connections` can be set for the cluster; other keys with a listener's
  prefix only for one broker.
- Values that the file no longer allows are ignored at the next start, with a log line for each.
- As on a broker with eligible leader replicas, Kafka's default, `min.insync.replicas=1` is set for
  the cluster: it can be changed but not deleted.
"""

PREFIXES = {
    Scope.SERVER: "",
    Scope.LISTENER: "listener",
    Scope.MECHANISM: "listener, mechanism",
}


def page() -> str:
    """Return the text of the page."""
    ours = [key for key in KEYS.values() if key.ours]
    kafkas = [key for key in KEYS.values() if not key.ours]
    without = ", ".join(f"`{name}`" for name in without_effect())
    earlier = ", ".join(f"`{name}`" for name in sorted(of_earlier_releases()))
    return (
        f"{HEAD}\n## Doorkeeper's own keys\n\n{_table(ours)}"
        f"\n## Kafka's keys that have an effect\n\n{_table(kafkas)}"
        f"\n## Kafka's keys that have no effect\n\nOf 4.3.1: {without}.\n"
        f"\nOf earlier releases: {earlier}.\n"
    )


def _table(keys: Iterable[Key[object]]) -> str:
    rows = (
        f"| `{key.name}` | {key.type.name.lower()} | {_default(key)} | {PREFIXES[key.scope]} |"
        f" {_applies(key)} | {key.doc} |\n"
        for key in keys
    )
    head = "| key | type | default | prefix | without a restart since | |\n"
    return f"{head}|---|---|---|---|---|---|\n" + "".join(rows)


def _default(key: Key[object]) -> str:
    if key.default is None:
        return "none"
    return f"`{key.default}`" if key.default else "empty"


def _applies(key: Key[object]) -> str:
    words = {Applies.RESTART: "", Applies.RELOAD: "SIGHUP", Applies.DYNAMIC: "SIGHUP, dynamic"}
    word = words[key.applies]
    return f"{word}: {key.since}" if word else ""


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    return {PAGE: page()}
