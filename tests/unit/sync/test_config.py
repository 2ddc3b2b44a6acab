"""The file of clusters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
import yaml

from doorkeeper.acls.live_changes import RemovalLimits, Rule
from doorkeeper.acls.model import ResourceType
from doorkeeper.acls.plan import EVERYTHING, Selector
from doorkeeper.client.logins import Password
from doorkeeper.server.app.errors import StartError
from doorkeeper.sync.config import FILE_BYTES_MAX, load
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = json.loads((ROOT / "schemas/records/clusters.json").read_text("utf-8"))


def write(folder: Path, text: str) -> Path:
    file = folder / "clusters.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def fault_of(file: Path) -> str:
    """Return what is wrong with a file, without its name."""
    with pytest.raises(StartError) as caught:
        load(file)
    (problem,) = caught.value.problems
    return problem.removeprefix(f"{file}:")


def is_valid(text: str) -> bool:
    """Return whether the JSON schema takes a file of this text."""
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(yaml.safe_load(text)))


def test_defaults_are_safe(tmp_path: Path) -> None:
    """A new cluster is observed only, and at most 100 ACLs of it are removed at once."""
    text = "clusters:\n  - {name: a, bootstrap: 'k:9092', scope: everything}\n"

    (found,) = load(write(tmp_path, text))

    assert is_valid(text)
    assert (found.mode, found.foreign, found.order) == ("observe", "revert", 0)
    assert (found.interval_s, found.limits) == (10.0, RemovalLimits(100, 0.5))
    assert (found.rate, found.batch) == (0, 1000)
    assert (found.store, found.accepted) == ("", frozenset())
    assert found.scope.selectors == (EVERYTHING,)


def test_every_key_is_read() -> None:
    """The example has all of them, and the JSON schema takes it."""
    file = ROOT / "examples/clusters.yaml"

    canary, production, audit = load(file)

    assert is_valid(file.read_text("utf-8"))
    assert canary.scope.selectors == (
        Selector(
            prefixes=("pay-",),
            resource_types=frozenset({ResourceType.TOPIC, ResourceType.GROUP}),
        ),
    )
    assert (production.order, production.interval_s) == (2, 5.0)
    assert production.limits == RemovalLimits(20, 0.1)
    assert (production.rate, production.batch) == (500, 200)
    assert production.store == "WWlYVKpcQqGnKq0dYBzJ9A"
    assert production.accepted == {Rule.OPEN}
    assert (production.controllers, audit.controllers) == ("localhost:9294", "")
    assert production.client_config().client_id == "doorkeeper-production"
    assert audit.mode == "observe"


def test_secrets_are_read_when_a_client_is_created(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("password=first\n", encoding="utf-8")
    file = write(
        tmp_path,
        f"""clusters:
  - name: a
    bootstrap: k:9092
    scope: everything
    properties:
      security.protocol: SASL_PLAINTEXT
      sasl.mechanism: PLAIN
      config.providers: file
      config.providers.file.class: org.apache.kafka.common.config.provider.FileConfigProvider
      sasl.jaas.config: >-
        org.apache.kafka.common.security.plain.PlainLoginModule required username="door"
        password="${{file:{secrets}:password}}";
""",
    )
    (found,) = load(file)
    secrets.write_text("password=second\n", encoding="utf-8")

    login = found.client_config().login

    assert isinstance(login, Password)
    assert login.password == "second"
    assert "first" not in repr(found)


JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
HEAD = "clusters:\n  - name: a\n    bootstrap: k:9092\n    scope: everything\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", " found None; expected: a mapping with the keys clusters"),
        ("cluster: []", "1: cluster: unknown: cluster; allowed: clusters; did you mean clusters?"),
        ("clusters: {}", "1: clusters: found {}; expected: a list"),
        (f"{HEAD}    modus: enforce", "5: clusters[0].modus: unknown: modus; allowed: name,"),
        (
            f"{HEAD}    mode: on-call",
            "5: clusters[0].mode: found 'on-call'; expected: one of observe, enforce",
        ),
        (
            f"{HEAD}    interval.ms: 10",
            "5: clusters[0].interval.ms: found 10; expected: a whole number from 100 to 86400000",
        ),
        (
            f"{HEAD}    order: yes",
            "5: clusters[0].order: found True; expected: a whole number from 0 to 1000000000",
        ),
        ("clusters:\n  - name: a", "2: clusters[0]: missing: bootstrap, scope"),
        (
            "clusters:\n  - {name: no, bootstrap: 'k:1', scope: everything}",
            "2: clusters[0].name: found False; expected: a string",
        ),
        (
            "clusters:\n  - {name: a, bootstrap: '', scope: everything}",
            "2: clusters[0].bootstrap: found ''; expected: a string",
        ),
        (
            "clusters:\n  - {name: a, bootstrap: k, scope: everything}",
            "2: clusters[0].bootstrap: found 'k'; expected: host:port",
        ),
        (
            "clusters:\n  - name: a b\n    bootstrap: k:1\n    scope: everything",
            "2: clusters[0].name: found 'a b'; expected: letters, digits, dots, _ and -",
        ),
        (
            "clusters:\n  - name: a\n    bootstrap: k:1\n    scope: all",
            (
                "4: clusters[0].scope: found 'all'; expected: everything, or a mapping with"
                " principals, prefixes, resourceTypes"
            ),
        ),
        (
            "clusters:\n  - name: a\n    bootstrap: k:1\n    scope: {resourceTypes: [TOPICS]}",
            "4: clusters[0].scope: resource type: found 'TOPICS'; allowed: TOPIC, GROUP",
        ),
        (
            "clusters:\n  - name: a\n    bootstrap: k:1\n    scope: [{prefixes: p}, {topics: t}]",
            "4: clusters[0].scope: found [{'prefixes': 'p'}, {'topics': 't'}]; expected: every",
        ),
        (
            "clusters:\n  - name: a\n    bootstrap: k:1\n    scope: [{prefixes: [p]}, {}]",
            "4: clusters[0].scope[1]: is empty; expected: one of principals",
        ),
        (
            "clusters:\n  - name: a\n    bootstrap: k:1\n    scope: []",
            "4: clusters[0].scope: found []; expected: everything",
        ),
        (
            f"{HEAD}    properties: {{sasl.jaas.config: {{x1: x1}}}}",
            "5: clusters[0].properties.sasl.jaas.config: found dict; expected: a single value",
        ),
        (
            f"{HEAD}    properties: {{security.protocol: SASL}}",
            (
                "5: clusters[0].properties.security.protocol: found SASL; allowed: PLAINTEXT, SSL,"
                " SASL_PLAINTEXT, SASL_SSL"
            ),
        ),
        (
            f"{HEAD}    properties: {{sasl.jaas.config: '{JAAS} password=\"x1\";'}}",
            (
                "5: clusters[0].properties.sasl.jaas.config: secrets must be references, such as"
                " ${file:/run/secrets/kafka:password} with config.providers"
            ),
        ),
        (
            f"{HEAD}    store: mine",
            (
                "5: clusters[0].store: found 'mine'; expected: the id printed by doorkeeper"
                " clusters adopt"
            ),
        ),
        (
            f"{HEAD}    accept: [everything]",
            (
                "5: clusters[0].accept[0]: found 'everything'; expected: one of size, networks,"
                " lock-out, open"
            ),
        ),
        (
            f"{HEAD}    accept: [owner]",
            "5: clusters[0].accept[0]: for another store, write store: ID",
        ),
        (
            f"{HEAD}    limits: {{max.removals.share: 101}}",
            "5: clusters[0].limits.max.removals.share: found 101; expected: a whole number from 0",
        ),
        (
            f"{HEAD}  - name: b\n    bootstrap: K:9092,l:1\n    scope: {{prefixes: [p]}}",
            "5: clusters[1]: the scope overlaps that of a on the same cluster",
        ),
        (
            f"{HEAD}  - name: a\n    bootstrap: l:1\n    scope: everything",
            "5: clusters[1]: the name a occurs twice",
        ),
    ],
)
def test_errors_have_line_and_suggestion(tmp_path: Path, text: str, fault: str) -> None:
    found = fault_of(write(tmp_path, text))

    assert found.startswith(fault), found
    assert "x1" not in found


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Each with the reason; a deep one would overflow the stack of libyaml's composer."""
    absent, folder, latin, large, wrong, deep = (tmp_path / name for name in "abcdef")
    folder.mkdir()
    latin.write_bytes(b"clusters: [\xe4]")
    wrong.write_text("a: [1\nb: 2\n")
    deep.write_text("clusters: " + "[" * 200_000)
    with large.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)

    assert fault_of(absent) == " cannot read: No such file or directory"
    assert fault_of(folder) == " cannot read: Is a directory"
    assert fault_of(wrong).startswith("2: not YAML: ")
    assert fault_of(latin) == " byte 11 is not UTF-8"
    assert fault_of(large) == f" {FILE_BYTES_MAX + 1} bytes; at most {FILE_BYTES_MAX}"
    assert fault_of(deep) == "1: not YAML: nested too deeply"


def test_disjoint_scopes_of_one_cluster_are_allowed(tmp_path: Path) -> None:
    text = (
        "clusters:\n"
        "  - {name: a, bootstrap: 'k:9092', scope: {prefixes: [pay-]}}\n"
        "  - {name: b, bootstrap: 'k:9092', scope: {prefixes: [hr-]}}\n"
    )

    assert len(load(write(tmp_path, text))) == 2
    assert is_valid(text)
