"""The files that are installed beside the modules: examples, JSON schemas, dashboards.

The build copies them from the repository into ``doorkeeper/data``, under the paths that they have
there.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable


class Example(Struct, frozen=True):
    """Files that belong together; of a folder, everything in it."""

    summary: str
    paths: tuple[str, ...]


EXAMPLES: Final = {
    "configuration": Example(
        "a server.properties, a file of clusters",
        ("examples/server.properties", "examples/clusters.yaml"),
    ),
    "acls": Example(
        "ACLs as CSV, and the ACLs of a team as YAML", ("examples/acls.csv", "examples/team-a.yaml")
    ),
    "teams": Example("the ACLs of several teams in one folder", ("examples/teams",)),
    "rules": Example(
        "ACLs, and rules that they must satisfy",
        (
            "examples/pii.yaml",
            "examples/pii-cluster.yaml",
            "examples/pii-proposed.yaml",
            "examples/pii-rules.yaml",
        ),
    ),
    "ci": Example("plan and apply ACLs on GitHub, GitLab and before a commit", ("examples/ci",)),
    "cleanup": Example("a month of an authorizer log, and ACLs to clean up", ("examples/cleanup",)),
    "learn": Example("a service, and the ACLs that it needs", ("examples/learn",)),
    "roles": Example("roles with the ACLs that programs need", ("examples/roles",)),
    "testing": Example("tests with pytest, for four client libraries", ("examples/testing",)),
    "authorizers": Example("authorizer classes in Python", ("examples/authorizers",)),
    "authentication": Example("login plug-ins in Python", ("examples/authentication",)),
    "policies": Example("policies for new topics and configurations", ("examples/policies",)),
    "pipeline": Example("the access pipeline in schedulers", ("examples/pipeline",)),
    "whoami": Example(
        "a broker's name mapping rules, a certificate and ACLs, for doorkeeper whoami",
        ("examples/whoami",),
    ),
    "systemd": Example("a unit file", ("examples/doorkeeper.service",)),
    "prometheus": Example("a scrape configuration and alerts", ("docker/prometheus",)),
    "grafana": Example("a dashboard, and its provisioning", ("docker/grafana",)),
    "schemas": Example(
        "JSON schemas of files of ACLs, rules and clusters, and of audit events",
        (
            "schemas/records/acl_set.json",
            "schemas/records/acl_rules.json",
            "schemas/records/clusters.json",
            "schemas/records/audit_event.json",
        ),
    ),
}
SAMPLE_CONFIGURATION: Final = "examples/server.properties"


def sample_file(path: str) -> Traversable:
    """Return an installed file or folder, by its path in the repository."""
    package = resources.files("doorkeeper")
    data = package.joinpath("data")
    # An editable install has no copies: there the originals are read.
    root = data if data.is_dir() else Path(str(package)).parents[1]
    return root.joinpath(*path.split("/"))


def files_of(example: Example) -> Iterator[tuple[str, Traversable]]:
    """Yield each file with its path below the folder that it is copied to, sorted by path."""
    for path in example.paths:
        file = sample_file(path)
        if file.is_dir():
            yield from _files_below(file, "")
        else:
            yield file.name, file


def _files_below(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.is_dir():
            if file.name != "__pycache__":
                yield from _files_below(file, f"{prefix}{file.name}/")
        else:
            yield f"{prefix}{file.name}", file
