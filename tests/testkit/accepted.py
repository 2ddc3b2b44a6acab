"""The differences from a real broker that are accepted, each by name and with its reason.

``agreed`` takes two answers and says what of them still differs. Each row has a witness: a request
that shows the difference, so that a test can tell when a row is no longer needed.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from doorkeeper.registry import APIS
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from testkit.frame_cases import Step, create, creation, make_topics, new_topic
from testkit.side_by_side import INTERNAL, unequal

Mask = Callable[[str, Any], Any]
"""Takes the request's name and an answer; returns the answer without what is accepted."""

BROKERS_VERSIONS = {19: (2, 7), 20: (1, 6), 29: (1, 3), 30: (1, 3), 31: (1, 3), 32: (1, 4)}
"""Lowest and highest version on a broker, where our lowest is older."""

DESCRIPTION = re.compile(r"Request\(.*\)", re.DOTALL)
DECLARED = re.compile(r" already exists: it is declared in .*")
CONNECTION = re.compile(r"processor=\d+|connectionId=[^,]*|Session@[0-9a-f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """One difference: its name, why it is there, where it shows, and how it is put aside."""

    name: str
    reason: str
    witness: Step
    mask: Mask


def _rows(answer: Any, name: str, keep: Callable[[Any], Any]) -> Any:
    """Return the answer with each row of a list changed; rows that become None are left out."""
    if not isinstance(answer, dict) or name not in answer:
        return answer
    rows = [keep(row) for row in answer[name]]
    return {**answer, name: [row for row in rows if row is not None]}


def _served(request: str, answer: Any) -> Any:
    if request != "ApiVersionsRequest":
        return answer
    return _rows(answer, "api_keys", lambda row: row if row["api_key"] in APIS else None)


def _versions(request: str, answer: Any) -> Any:
    if request != "ApiVersionsRequest":
        return answer

    def clipped(row: Any) -> Any:
        lowest, _ = BROKERS_VERSIONS.get(row["api_key"], (0, 0))
        return {**row, "min_version": max(lowest, row["min_version"])}

    return _rows(answer, "api_keys", clipped)


def _newer(request: str, answer: Any) -> Any:
    if request != "ApiVersionsRequest":
        return answer

    def clipped(row: Any) -> Any:
        newest = 4 if row["api_key"] == ApiVersionsRequest.API_KEY else row["max_version"]
        return {**row, "max_version": min(newest, row["max_version"])}

    return _rows(answer, "api_keys", clipped)


def _features(_request: str, answer: Any) -> Any:
    for name in ("supported_features", "finalized_features"):
        answer = _rows(answer, name, lambda row: row if row["name"] == "metadata.version" else None)
    return answer


def _epoch(_request: str, answer: Any) -> Any:
    name = "finalized_features_epoch"
    if isinstance(answer, dict) and answer.get(name, -1) >= 0:
        return {**answer, name: "<epoch>"}
    return answer


def _hop(request: str, answer: Any) -> Any:
    if not request.startswith(("CreateAcls", "DeleteAcls")):
        return answer
    return _texts(answer, lambda text: DESCRIPTION.sub("Request(...)", text))


def _declared(request: str, answer: Any) -> Any:
    if not request.startswith("CreateTopics"):
        return answer
    return _texts(answer, lambda text: DECLARED.sub(" already exists.", text))


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _texts(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_texts(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


def unconnected(answer: Any) -> Any:
    """Return an answer without what names its connection: that differs between two brokers too."""
    return _texts(answer, lambda text: CONNECTION.sub("<connection>", text))


_VERSIONS = Step(
    None,
    ApiVersionsRequest(client_software_name="a", client_software_version="1"),
    ApiVersionsResponse,
    4,
)

ACCEPTED: tuple[Accepted, ...] = (
    Accepted(
        name="served-apis",
        reason="ApiVersions lists what is served here, and nothing that moves records",
        witness=_VERSIONS,
        mask=_served,
    ),
    Accepted(
        name="older-versions",
        reason="versions that Kafka 4.0 removed are served as 3.9 served them",
        witness=_VERSIONS,
        mask=_versions,
    ),
    Accepted(
        name="newer-api-versions",
        reason="version 5 of ApiVersions is served as Kafka 4.4 serves it",
        witness=_VERSIONS,
        mask=_newer,
    ),
    Accepted(
        name="features",
        reason="only metadata.version is named: the other features concern what is not served",
        witness=_VERSIONS,
        mask=_features,
    ),
    Accepted(
        name="features-epoch",
        reason="the epoch counts the records of a metadata log, which does not exist here",
        witness=_VERSIONS,
        mask=_epoch,
    ),
    Accepted(
        name="hop-description",
        reason="a refused CreateAcls or DeleteAcls describes the client's own request;"
        " a broker describes its hop to the controller",
        witness=create(creation(), user="alice"),
        mask=_hop,
    ),
    Accepted(
        name="declared-topic",
        reason="a topic that the catalog declares exists, and the text says where it is declared",
        witness=make_topics(new_topic(INTERNAL[0]), version=5),
        mask=_declared,
    ),
)


def agreed(
    request: str,
    expected: Any,
    found: Any,
    *,
    accepted: tuple[Accepted, ...] = ACCEPTED,
    met: Counter[str] | None = None,
) -> list[str]:
    """Return the lines of what differs and is not accepted; count in ``met`` what is."""
    expected, found = unconnected(expected), unconnected(found)
    lines = unequal("", expected, found)
    for row in accepted:
        if not lines:
            break
        expected, found = row.mask(request, expected), row.mask(request, found)
        left = unequal("", expected, found)
        if met is not None and left != lines:
            met[row.name] += 1
        lines = left
    return lines
