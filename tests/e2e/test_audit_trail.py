"""The audit log of a real server: killed under load, on a full disk, led back to a request."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.operations.audit.verifying import verify_log
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.e2e import EVERYTHING, STANDARD, configured, principals_of
from testkit.load import scaled
from testkit.serving import Conversation, Serving, creation
from testkit.trails import lines_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLIENTS = 4


def started(folder: Path, audit: Path, text: str = "super.users=User:ANONYMOUS\n") -> Serving:
    listeners = "listeners=PLAINTEXT://localhost:0\n"
    return configured(folder, f"{listeners}{STANDARD}doorkeeper.audit.dir={audit}\n{text}")


def added(audit: Path) -> list[str]:
    """Return the principals of all ACLs that the trail says were made, in order."""
    changes = [event for event in lines_in(audit) if event["kind"] == "change"]
    return [acl["principal"] for event in changes for acl in event["added"]]


def ask_until_the_end(port: int, name: str, acknowledged: list[str]) -> None:
    """Make an ACL, and another one, until the server is gone; note those that it answered."""
    with Conversation(port) as conversation:
        number = 0
        while True:
            number += 1
            principal = f"User:{name}-{number}"
            try:
                answer = conversation.call(creation(principal), CreateAclsResponse, 3)
            except (EOFError, OSError):
                return
            if answer.results[0].error_code == 0:
                acknowledged.append(principal)


@pytest.mark.parametrize("sync", ["strict", "none"])
def test_kill_under_load_keeps_answered_changes(tmp_path: Path, sync: str) -> None:
    """After kill -9 every change that was answered is in the trail, once, and the trail is whole:
    an answer leaves when its event is in the file."""
    audit = tmp_path / "audit"
    text = f"super.users=User:ANONYMOUS\ndoorkeeper.audit.sync={sync}\n"
    acknowledged: list[str] = []
    with started(tmp_path, audit, f"{text}doorkeeper.audit.file.bytes=20000\n") as server:
        port = server.port()
        threads = [
            threading.Thread(target=ask_until_the_end, args=(port, f"c{n}", acknowledged))
            for n in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        deadline_s = time.monotonic() + 20
        while len(acknowledged) < 200 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join(scaled(20))
    with started(tmp_path, audit, text) as server:
        server.port()
        assert server.stop() == 0

    found = added(audit)
    verdict = verify_log(audit)
    assert len(acknowledged) >= 200
    assert len(set(found)) == len(found)
    assert set(acknowledged) <= set(found)
    assert verdict.is_whole, verdict.problems
    assert (verdict.events["start"], verdict.events["stop"], verdict.open_files) == (2, 1, 0)
    assert verdict.files > 2
    assert list(audit.glob("*.open")) == []


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system of this size."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(file: Path) -> None:
    """Write until nothing more goes."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (1 << 20, 1 << 12, 1):
            while os.write(descriptor, b"x" * size) == size:
                pass
    except OSError:
        pass
    finally:
        os.close(descriptor)


def outcomes(server: Serving, name: str, count: int) -> dict[str, tuple[int, str | None]]:
    """Make ACLs one by one; return what came of each."""
    found = {}
    with server.connect() as conversation:
        for number in range(count):
            principal = f"User:{name}-{number}"
            answer = conversation.call(creation(principal), CreateAclsResponse, 3)
            (result,) = answer.results
            found[principal] = (result.error_code, result.error_message)
    return found


def principals(server: Serving) -> set[str]:
    with server.connect() as conversation:
        return principals_of(conversation)


def test_full_disk_with_strict_sync(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "12m") as disk:
        text = "super.users=User:ANONYMOUS\ndoorkeeper.audit.sync=strict\n"
        with started(tmp_path, disk / "audit", text) as server:
            server.port()
            fill(disk / "filler")
            full = outcomes(server, "full", 40)
            done = {name for name, (code, _) in full.items() if code == 0}
            codes = [code for code, _ in full.values()]
            there = principals(server)
            (disk / "filler").unlink()
            server.line("the audit log can be written again")
            later = outcomes(server, "later", 2)
            assert server.stop() == 0
        found, verdict = added(disk / "audit"), verify_log(disk / "audit")

    assert codes == sorted(codes)
    assert codes[-1] == 56
    assert there == done
    (text_of_refusal,) = {text for code, text in full.values() if code}
    assert text_of_refusal is not None
    assert text_of_refusal.startswith("Nothing was changed: the audit log cannot be written")
    assert "No space left on device" in text_of_refusal
    assert [code for code, _ in later.values()] == [0, 0]
    assert set(found) == done | set(later)
    assert verdict.is_whole, verdict.problems


def test_full_disk_without_strict_sync(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        with started(tmp_path, disk / "audit") as server:
            server.port()
            fill(disk / "filler")
            full = outcomes(server, "full", 40)
            (disk / "filler").unlink()
            server.line("the audit log can be written again")
            assert server.stop() == 0
        events, verdict = lines_in(disk / "audit"), verify_log(disk / "audit")

    dropped = [event for event in events if event["kind"] == "dropped"]
    changes = [event for event in events if event["kind"] == "change"]
    assert {code for code, _ in full.values()} == {0}
    assert len(changes) + sum(event["changes"] for event in dropped) == 40
    assert {event["reason"] for event in dropped} == {"disk"}
    assert verdict.is_whole, verdict.problems


def test_audit_event_leads_to_the_request(tmp_path: Path) -> None:
    text = "super.users=User:root\ndoorkeeper.log.levels=kafka.request.logger=DEBUG\n"
    with started(tmp_path, tmp_path / "audit", text) as server:
        with server.connect() as conversation:
            conversation.send(EVERYTHING, 3, correlation_id=4711)
            assert conversation.answer(DescribeAclsResponse, 3).error_code == 31
        line = server.line("completed request")
        assert server.stop() == 0

    (event,) = (event for event in lines_in(tmp_path / "audit") if event["kind"] == "decision")
    assert (event["outcome"], event["rule"], event["correlation_id"]) == (
        "DENIED",
        "DefaultDeny",
        4711,
    )
    shared = (
        *("api", "api_key", "correlation_id", "client_id", "client_software"),
        *("principal", "host", "listener", "security_protocol"),
    )
    assert {name: event[name] for name in shared} == {name: line[name] for name in shared}
    assert (event["api_version"], line["errors"]) == (
        line["version"],
        "CLUSTER_AUTHORIZATION_FAILED",
    )
