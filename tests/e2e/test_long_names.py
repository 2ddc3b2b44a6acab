"""Names that no message carries: refused wherever they come in, and told in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper_wire.framing import RequestHeader, encode_request
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import READ, allow, topic
from testkit.e2e import EVERYTHING, acls
from testkit.serving import Serving, creation

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.serving import Conversation

LONG = "y" * 40_000
TOLD = "Resource name takes 40000 bytes; at most 32767"
A = ("--allow-principal", "User:a", "--operation", "Read")
CONFIG = ("--config", "server.properties")


def described(conversation: Conversation) -> list[str]:
    """Return the names of all ACLs that a server describes."""
    answer = conversation.call(EVERYTHING, DescribeAclsResponse, 3)
    return [row.resource_name for row in answer.resources]


def prepared(folder: Path) -> None:
    """Write the server's file, and a set of ACLs of which one is too long."""
    (folder / "server.properties").write_text(
        "listeners=PLAINTEXT://localhost:0\ndoorkeeper.data.dir=data\nsuper.users=User:ANONYMOUS\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
    )
    whole = write([allow("a", READ, topic(name)) for name in ("x", LONG)], Format.JSON)
    (folder / "acls.json").write_text(whole)


def test_stopped_store_rejects_oversized_names(tmp_path: Path) -> None:
    prepared(tmp_path)
    place = "config:server.properties"

    assert acls(tmp_path, "add", place, *A, "--topic", "good")[0] == 0
    added = acls(tmp_path, "add", place, *A, "--topic", LONG)
    applied = acls(tmp_path, "apply", "acls.json", place, "--yes")

    assert added == (1, "", f"doorkeeper: Error while executing ACL command: {TOLD}\n")
    assert applied == (1, "", f"doorkeeper: acls.json: line 5: acl 2: {TOLD}\n")
    with Serving(tmp_path, *CONFIG) as server, server.connect() as conversation:
        assert described(conversation) == ["good"]


def test_name_that_grows_when_encoded_is_rejected(tmp_path: Path) -> None:
    """A byte that is no UTF-8 becomes a character of three: its ACL is refused, no other."""
    prepared(tmp_path)
    with Serving(tmp_path, *CONFIG) as server, server.connect() as conversation:
        first = creation("User:a").creations[0]
        grown = first.replace(resource_name="~" * 32_767)
        request = creation("User:a").replace(creations=(first, grown))
        header = RequestHeader(api_key=30, api_version=3, correlation_id=1, client_id="test")
        frame = encode_request(header, request.encode(3).replace(b"~", b"\xff"))

        conversation.socket.sendall(frame)
        answer = conversation.answer(CreateAclsResponse, 3)

        found = [(row.error_code, row.error_message) for row in answer.results]
        assert found == [(0, ""), (42, "Resource name takes 98301 bytes; at most 32767")]
        assert described(conversation) == [first.resource_name]


def test_oversized_error_text_is_an_error(tmp_path: Path) -> None:
    """It quotes a name of 32,767 characters: -1 in every row as on a broker, and the next answer.

    Source: ``KafkaApis.handle`` (4.3.1), which answers what cannot be serialized.
    """
    prepared(tmp_path)
    names = ("x" * 32_767, "good")
    topics = tuple(CreatableTopic(name=name, num_partitions=1) for name in names)
    request = CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=True)
    with Serving(tmp_path, *CONFIG) as server, server.connect() as conversation:
        answer = conversation.call(request, CreateTopicsResponse, 7)

        assert [(row.name, row.error_code) for row in answer.topics] == [(n, -1) for n in names]
        assert described(conversation) == []
        assert server.line("a response does not fit")["api"] == "CreateTopics"
