"""``examples/ci``: its commands, as CI runs them, on a server with the ACLs of three teams."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from testkit.checkout import ROOT
from testkit.e2e import acls
from testkit.kafka_broker import jaas
from testkit.kafka_target import doorkeeper_target
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CI = ROOT / "examples" / "ci"
PASSWORDS = {"acls-reader": "reader-secret", "acls-writer": "writer-secret"}
WIDER = """\
  - {resourceType: TOPIC, name: pay-orders, principal: "User:mallory", operation: READ}
"""
PROGRAMS = {
    "doorkeeper": f'#!/bin/sh\nexec {sys.executable} -m doorkeeper "$@"\n',
    # The comment that GitHub would get.
    "gh": '#!/bin/sh\nshift 3\n[ "$1" = --body-file ] && cp "$2" comment.md\n',
}


@dataclass
class Repository:
    """A repository of ACLs, and the server that has them."""

    folder: Path
    server: str
    open_server: str

    def run(self, script: str, variables: dict[str, str]) -> int:
        """Run a script as GitHub and GitLab do; return its status. No password is printed."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        known = {"CLUSTER": f"kafka://{self.server}", "NUMBER": "7", "PATH": path}
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=self.folder,
            env=os.environ | variables | known,
            capture_output=True,
            text=True,
            timeout=scaled(100),
            check=False,
        )
        for password in PASSWORDS.values():
            assert password not in done.stdout + done.stderr
        return done.returncode

    def widen(self) -> None:
        """Let another user read a topic of the team that runs payments."""
        with (self.folder / "acls" / "payments.yaml").open("a", encoding="utf-8") as file:
            file.write(WIDER)

    def add_by_hand(self, *operation: str) -> None:
        """Let an administrator add an ACL for all topics, which no file has."""
        who = ("--allow-principal", "User:eve", "--topic", "*")
        assert acls(self.folder, "add", f"kafka://{self.open_server}", *who, *operation)[0] == 0


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, str]]:
    """Start a server; its open listener is an administrator's."""
    listener = {"listener.name.sasl.plain.sasl.jaas.config": jaas(PASSWORDS)}
    target = doorkeeper_target(**listener)
    yield target.plain, target.sasl
    target.close()


@pytest.fixture
def repository(server: tuple[str, str], tmp_path: Path) -> Repository:
    """Give a repository whose ACLs the server has."""
    plain, sasl = server
    shutil.copytree(ROOT / "examples" / "teams", tmp_path / "acls")
    for name in ("kafka-client.properties", "rules.yaml"):
        shutil.copy(CI / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for name, text in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    assert acls(tmp_path, "apply", "acls", f"kafka://{plain}", "--whole", "--yes")[0] == 0
    return Repository(tmp_path, sasl, plain)


def load(name: str) -> dict[Any, Any]:
    """Return a file of examples/ci."""
    found: dict[Any, Any] = yaml.safe_load((CI / name).read_text(encoding="utf-8"))
    return found


def run_github(repository: Repository, job: str) -> list[tuple[str, int]]:
    """Run the steps of a job up to the first failure; return their names and statuses."""
    found = load("github-actions.yaml")["jobs"][job]
    name = found["env"]["KAFKA_USER"]
    variables = {"KAFKA_USER": name, "KAFKA_PASSWORD": PASSWORDS[name]}
    statuses = []
    for step in found["steps"]:
        if "run" in step:
            statuses.append((step["name"], repository.run(step["run"], variables)))
            if statuses[-1][1]:
                break
    return statuses


def run_gitlab(repository: Repository, job: str) -> int:
    """Run the script of a job; return its status, 0 where that is allowed."""
    found = load("gitlab-ci.yaml")[job]
    name = "acls-writer" if "environment" in found else "acls-reader"
    variables = {"KAFKA_USER": name, "KAFKA_PASSWORD": PASSWORDS[name]}
    return repository.run("\n".join(found["script"]), variables)


def test_github_actions(repository: Repository) -> None:
    """A comment has the plan; wider access needs a label; main is applied; drift is a failure."""
    look = "Removals and wider access need the label"
    plan = [("Validate", 0), ("Plan", 0), ("Comment", 0), (look, 0)]
    comment = repository.folder / "comment.md"

    assert run_github(repository, "drift") == [("Compare", 0)]
    assert run_github(repository, "plan") == plan
    assert comment.read_text().startswith("**No changes for kafka://")
    repository.widen()
    assert run_github(repository, "plan") == [*plan[:-1], (look, 1)]
    assert "+ User:mallory,TOPIC,LITERAL,pay-orders,READ,ALLOW,*" in comment.read_text()
    assert run_github(repository, "drift") == [("Compare", 3)]
    assert run_github(repository, "apply") == [("Apply", 0)]
    assert run_github(repository, "drift") == [("Compare", 0)]
    # No prefix of a team covers all topics: no file removes this ACL.
    repository.add_by_hand("--operation", "Read")
    assert run_github(repository, "plan") == plan
    assert run_github(repository, "drift") == [("Compare", 1)]
    # It breaks a rule, whoever owns it.
    repository.add_by_hand("--operation", "Write")
    assert run_github(repository, "plan") == [("Validate", 0), ("Plan", 1)]


def test_gitlab(repository: Repository) -> None:
    """As on GitHub; the statuses that are allowed are those of plans with changes."""
    jobs = load("gitlab-ci.yaml")
    look = "removals-and-wider-access"
    allowed = {name: job["allow_failure"] for name, job in jobs.items() if "allow_failure" in job}
    assert allowed == {"plan": {"exit_codes": [3]}, look: {"exit_codes": [3]}}
    repository.widen()
    assert [run_gitlab(repository, job) for job in ("plan", look, "drift")] == [3, 1, 3]
    assert "+ User:mallory," in (repository.folder / "plan.md").read_text()
    assert [run_gitlab(repository, job) for job in ("apply", "drift")] == [0, 0]
    repository.add_by_hand("--operation", "Read")
    assert [run_gitlab(repository, job) for job in ("plan", "drift")] == [0, 1]
    repository.add_by_hand("--operation", "Write")
    assert run_gitlab(repository, "plan") == 1


def test_plan_login_cannot_change_acls(repository: Repository) -> None:
    found = load("github-actions.yaml")["jobs"]
    applying = found["apply"]["steps"][-1]["run"]
    [name] = {found[job]["env"]["KAFKA_USER"] for job in ("plan", "drift")}
    repository.widen()

    variables = {"KAFKA_USER": name, "KAFKA_PASSWORD": PASSWORDS[name]}
    assert repository.run(applying, variables) == 1
    assert run_github(repository, "drift") == [("Compare", 3)]
