"""The tests of ACLs of franz-go's kfake, unchanged, on the test broker."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.clients import DRIVERS
from testkit.kafka_jars import PROJECT, cannot

GO = DRIVERS / "go"
MODULE = "github.com/twmb/franz-go/pkg/kfake"
TESTS = {
    *("TestACLsDisabled", "TestACLsEnabled", "TestACLsWithPermission", "TestACLsSuperuser"),
    *("TestACLCreateDescribeDelete", "TestACLDenyTakesPrecedence", "TestACLPrefixPattern"),
}
ROUND_TRIP = "TestKadmACLDefaultPatternRoundTrip"
"""It stands in a file whose other tests are of kfake's inner parts, and is taken out of it.

Of the tests with ACLs only TestPersistACLsRestart does not apply: it is of kfake's own data folder.
"""
HEAD = """package kfake
import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)
"""


def go(*words: str) -> str:
    """Return the output of Go's own tool, in the module of the clients."""
    server = f"{sys.executable} -m testkit.kfake_server"
    paths = os.pathsep.join([str(PROJECT / "tests"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        ["go", *words],
        cwd=GO,
        env={
            **os.environ,
            "GOTOOLCHAIN": "local",
            "DOORKEEPER_KFAKE_SERVER": server,
            "PYTHONPATH": paths,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the file that lays kfake's tests over the package of the same names."""
    if shutil.which("go") is None:
        cannot("go is not installed")
    found = go("mod", "download", "-json", MODULE)
    try:
        source = Path(json.loads(found)["Dir"])
    except (ValueError, KeyError):
        cannot(f"{MODULE}: {found}")
    folder = tmp_path_factory.mktemp("kfake")
    issues = (source / "issues_test.go").read_text(encoding="utf-8")
    (function,) = re.findall(rf"^func {ROUND_TRIP}\(.*?^}}\n", issues, re.MULTILINE | re.DOTALL)
    (folder / "issues_test.go").write_text(HEAD + function, encoding="utf-8")
    replaced = {
        str(GO / "kfake" / "acl_test.go"): str(source / "acl_test.go"),
        str(GO / "kfake" / "issues_test.go"): str(folder / "issues_test.go"),
    }
    file = folder / "overlay.json"
    file.write_text(json.dumps({"Replace": replaced}), encoding="utf-8")
    return file


def test_kfake_acl_tests(overlay: Path) -> None:
    # One after the other: they have five seconds each, also on a busy machine.
    words = ("test", f"-overlay={overlay}", "-count=1", "-parallel=1", "-v", "./kfake")

    output = go(*words)

    passed = set(re.findall(r"^--- PASS: (\w+)", output, re.MULTILINE))
    assert passed == {*TESTS, ROUND_TRIP}, output
