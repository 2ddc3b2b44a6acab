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

- The file has Java's format: ISO 8859-1 with `\\uXXXX`, `\\` continues a line, the last entry of
  a key counts.
- `--override key=value` (repeatable) comes after the file. Environment variables set no
  keys; `DOORKEEPER_JAAS_FILE` and `KRB5_CONFIG` name files.
- **With a file, nothing is added to it.** `authorizer.class.name` absent means that everything is
  allowed, as in Kafka; the start says so and how to turn ACLs on.
- **With no file** the server is for trying out: `listeners=PLAINTEXT://localhost:9092`, the
  standard authorizer, `super.users=User:ANONYMOUS`. A warning says that everyone on this machine
  is an administrator.
- All errors are told at once, each with file, line and key, and the status is 1: of keys, of what
  the authorizer refuses, of the groups, and of mechanisms and certificates (these where all keys
  can be read). So do `doorkeeper config check` and SIGHUP.
- A key of Kafka's that has no effect here is accepted; one warning lists them. A real broker's
  file starts unchanged.
- An unknown key that mistypes a known one in about two letters stops the start. Another unknown
  key is a warning, since plug-ins receive every key as it is given. An unknown key under
  `doorkeeper.` stops the start.
- A Java class of others, for `principal.builder.class` or
  `sasl.server.callback.handler.class`, and config providers (`${file:...}`, also
  where `config.providers` is empty) stop the start: they would change who may do what.
- A file without any key is a warning, and so is a configuration without an authorizer, which
  allows everything: `doorkeeper config check --strict` fails with either. A binary file, with
  control characters, is refused.
- The rules between listeners are Kafka's, but for one: where nothing names the listener between
  nodes and none is called PLAINTEXT, it is the first that clients may dial.
- Passwords are never printed, logged or described; nor is the text of a JAAS entry that is
  malformed.

**Prefix** says what may stand before a key: *listener* is `listener.name.<name in lower case>.`,
*mechanism* also `listener.name.<name>.<mechanism in lower case>.`. The most exact one counts.
*SIGHUP* marks what is read again without a restart, and since which release: the file is checked
as a whole, and one with an error changes nothing. *dynamic* marks what may also be changed over the
wire; see below. A plug-in authorizer may take its own keys, and any other, in both ways.

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
value of the cluster (`--entity-default`), the overrides, the file, the default. Who changes one
needs AlterConfigs on the cluster. It counts for the next request of every connection, none of which
is closed, and it is kept in the store with who changed it, when and from where: it survives a
restart, and a backup holds it. A change with anything wrong in it is refused as a whole.

- Keys marked *dynamic* and those that a `Reconfigurable` authorizer names change at once. Keys that
  nobody declares reach a plug-in that is not `Reconfigurable` at its next start.
- Kafka's own dynamic keys that have no effect here are kept and told; other keys of Kafka's, and
  ours, are refused: `Cannot update these configs dynamically`.
- Passwords, and so the users of PLAIN, are refused too: their place is the file.
- `listener.name.<name>.max.connections` may be one of the cluster; other keys with a listener
  before them are a broker's.
- Values that no longer fit the file are left out at the next start; one line for each says so.
- A broker with eligible leader replicas, Kafka's default, has `min.insync.replicas=1` for its
  cluster. So has Doorkeeper: it may be set, and not be deleted.
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
