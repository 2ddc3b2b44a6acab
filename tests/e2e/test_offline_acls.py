"""Everybody is locked out, and ``doorkeeper acls`` on the stopped server's store lets them in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from testkit import e2e
from testkit.frame_steps import ALL, CLUSTER, DENY, create, creation
from testkit.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def acls(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run the command beside the server's file."""
    return e2e.acls(folder, *words, "config:server.properties")


def test_offline_acls_recover_from_lock_out(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        f"listeners=PLAINTEXT://localhost:0\nauthorizer.class.name={STANDARD}\n"
        "doorkeeper.data.dir=data\n"
    )
    everything = ("--cluster", "--operation", "All", "--allow-principal", "User:ANONYMOUS")
    assert acls(tmp_path, "add", *everything)[0] == 0
    denied = create(
        creation(
            resource_type=CLUSTER,
            resource_name="kafka-cluster",
            principal="User:*",
            operation=ALL,
            permission_type=DENY,
        )
    ).request
    config = ("--config", "server.properties")
    with Serving(tmp_path, *config) as server, server.connect() as conversation:
        for request, code in ((denied, 0), (create(creation()).request, 31)):
            answer = conversation.call(request, CreateAclsResponse, 3)
            assert [row.error_code for row in answer.results] == [code]
        status, _, said = acls(tmp_path, "add", *everything)
        assert (status, said.count("\n")) == (1, 1)
        status, listed, _ = acls(tmp_path, "list")
        assert (status, listed.count("permissionType=DENY")) == (0, 1)
        assert server.stop() == 0

    wrong = ("--cluster", "--deny-principal", "User:*", "--operation", "All", "--force")
    assert acls(tmp_path, "remove", *wrong) == (0, "", "")

    with Serving(tmp_path, *config) as server, server.connect() as conversation:
        answer = conversation.call(create(creation()).request, CreateAclsResponse, 3)
        assert [row.error_code for row in answer.results] == [0]
        assert server.line("started")["acls"] == 1
