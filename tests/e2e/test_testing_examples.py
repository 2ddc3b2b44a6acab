"""The examples of README and docs/how-to/testing.md without other libraries run as shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from testkit.checkout import ROOT
from testkit.testing_examples import EXAMPLES, run_example

if TYPE_CHECKING:
    from pathlib import Path


BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
YOUR_CODE = """
from kafka.admin import (
    ACL, ACLOperation, ACLPermissionType, KafkaAdminClient, ResourcePattern, ResourceType
)

def grant_readers(**config):
    admin = KafkaAdminClient(**config)
    orders = ResourcePattern(ResourceType.TOPIC, "orders")
    admin.create_acls([ACL("User:alice", "*", ACLOperation.READ, ACLPermissionType.ALLOW, orders)])
    admin.close()
"""


def test_kafka_python(tmp_path: Path) -> None:
    """kafka-python's admin client works on the fixture; each test of the example passes."""
    assert run_example(EXAMPLES / "test_with_kafka_python.py", tmp_path) == {"passed": 3}


def test_page_examples_pass(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "how-to" / "testing.md").read_text(encoding="utf-8"))
    for number, block in enumerate(blocks):
        (tmp_path / f"test_{number}.py").write_text(block, encoding="utf-8")

    assert len(blocks) == 4
    assert run_example(tmp_path, tmp_path) == {"passed": 5}


def test_readme_example_passes(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = (each for each in BLOCK.findall(text) if "doorkeeper_server" in each)
    (tmp_path / "test_readme.py").write_text(YOUR_CODE + block, encoding="utf-8")

    assert run_example(tmp_path, tmp_path) == {"passed": 1}
