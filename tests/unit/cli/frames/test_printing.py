"""doorkeeper.cli.frames.printing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorkeeper.cli.frames.printing import print_json, print_text
from doorkeeper.dissector.dissection import Dissection
from doorkeeper.dissector.frame_cutter import Frame
from doorkeeper_wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from testkit.sample_frames import CONFIG_CHANGE, LOGIN, PASSWORD, SCRAM_USER, request

SECRETS = (LOGIN, SCRAM_USER, CONFIG_CHANGE)


def dissection(data: bytes) -> Dissection:
    return Dissection(Frame(0, data), "request", frame_bytes_max=10_000_000)


def text(
    data: bytes, capsys: pytest.CaptureFixture[str], *, show_secrets: bool = False
) -> list[str]:
    print_text(1, dissection(data), show_secrets=show_secrets)
    return capsys.readouterr().out.splitlines()


def record(
    data: bytes, capsys: pytest.CaptureFixture[str], *, show_secrets: bool = False
) -> dict[str, Any]:
    print_json(1, dissection(data), show_secrets=show_secrets)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def value(name: str, data: bytes, capsys: pytest.CaptureFixture[str]) -> tuple[str, Any]:
    """Return how the first field of a name is printed: as text, and in JSON."""
    (line, *_) = (each for each in text(data, capsys) if f" {name} " in each)
    fields = record(data, capsys)["fields"]
    (found, *_) = (each for each in fields if each["field"].rpartition(".")[2] == name)
    return line.partition(f"{name} ")[2], found["value"]


def test_nesting(capsys: pytest.CaptureFixture[str]) -> None:
    """Each level is two columns further to the right."""
    creation = AclCreation(resource_type=2, resource_name="t", principal="User:a", host="*")
    lines = text(request(CreateAclsRequest(creations=(creation,)), 0), capsys)

    assert lines[0] == "frame 1 at 0: request CreateAcls version 0"
    assert lines[6:9] == [
        "      19  Creations (1 element)",
        "      23    [0]",
        "      23      ResourceType 2 (TOPIC)",
    ]


def test_kinds_of_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Null, booleans, bytes, ids and numbers that JSON has not."""
    topics = (MetadataRequestTopic(topic_id=bytes(range(16)), name=None),)
    metadata = request(MetadataRequest(topics=topics, allow_auto_topic_creation=True), 12)
    join = JoinGroupRequest(
        protocols=(JoinGroupRequestProtocol(name="range", metadata=bytes(100)),)
    )
    ops = (OpData(key="k", value=float("nan"), remove=False),)
    quotas = AlterClientQuotasRequest(
        entries=(EntryData(entity=(EntityData(entity_type="user", entity_name=None),), ops=ops),)
    )

    assert value("TopicId", metadata, capsys) == ("AAECAwQFBgcICQoLDA0ODw",) * 2
    assert value("Name", metadata, capsys) == ("null", None)
    assert value("AllowAutoTopicCreation", metadata, capsys) == ("true", True)
    assert value("Metadata", request(join, 1), capsys) == (
        "00" * 64 + "... (100 bytes)",
        "00" * 100,
    )
    assert value("Value", request(quotas, 1), capsys) == ("nan", "nan")


def test_texts_move_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """What comes from the wire is escaped, in both outputs."""
    creation = AclCreation(resource_name="a\x1b[2J\x7f\u202e\nb", principal="User:é", host="*")
    data = request(CreateAclsRequest(creations=(creation,)), 0)

    lines = text(data, capsys)
    print_json(1, dissection(data), show_secrets=False)
    line = capsys.readouterr().out

    assert any(r'"a\x1b[2J\x7f\u202e\nb"' in each for each in lines)
    assert line.isascii()
    assert line.strip("\n").isprintable()
    assert any(each.get("value") == creation.resource_name for each in json.loads(line)["fields"])


@pytest.mark.parametrize("data", SECRETS)
def test_secrets_are_hidden(data: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither as text nor in hexadecimal, unless asked for."""
    forms = (PASSWORD, PASSWORD.encode().hex())
    hidden = "\n".join(text(data, capsys)) + json.dumps(record(data, capsys))
    shown = "\n".join(text(data, capsys, show_secrets=True))

    assert not any(form in hidden for form in forms)
    assert "secret bytes>" in hidden
    assert '"secret_bytes": ' in hidden
    assert any(form in shown for form in forms)
    assert "secret" not in shown


def test_json_of_a_frame(capsys: pytest.CaptureFixture[str]) -> None:
    """One object: where the frame is, what it is, its fields, and what is wrong."""
    found = record(LOGIN[:-1], capsys)

    assert {name: found[name] for name in ("frame", "offset", "stream", "kind", "api")} == {
        "frame": 1,
        "offset": 0,
        "stream": None,
        "kind": "request",
        "api": "SaslAuthenticate",
    }
    assert found["fields"][1] == {
        "offset": 4,
        "size": 2,
        "field": "ApiKey",
        "type": "int16",
        "value": 36,
        "name": "SaslAuthenticate",
    }
    assert found["note"] is None
    assert found["error"]["field"] == "TaggedFields"


def test_a_large_frame(capsys: pytest.CaptureFixture[str]) -> None:
    """More fields than are printed at once are all printed."""
    creation = AclCreation(resource_name="t", principal="User:a", host="*")
    lines = text(request(CreateAclsRequest(creations=(creation,) * 500), 0), capsys)

    assert sum("Principal" in each for each in lines) == 500
