"""What a pasted text says of a refused request: a line of an authorizer log, or an exception.

An exception of a client names the resource at most. Which principal asked, and for which operation,
stays empty then.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from doorkeeper.acls.formats.authorizer_message import END, Bad, Message, Record, read, read_record
from doorkeeper.acls.model import CLUSTER_NAME

_BEGIN: Final = "Principal = "


class Denial(Struct, frozen=True):
    """A request; what the text does not say is empty.

    ``operation`` and ``resource_type`` are Kafka's names: ``READ``, ``TOPIC``. ``others`` counts
    the further resources that the text names. ``reading`` says which kind of text it was.
    """

    reading: str
    principal: str = ""
    host: str = ""
    operation: str = ""
    resource_type: str = ""
    name: str = ""
    outcome: str = ""
    others: int = 0


_EXCEPTIONS: Final = (
    (r"Not authorized to access topics: \[([^\]]*)\]", "TOPIC", ""),
    (r"Topic ?authorization ?(?:failed|exception)(?:.*?['\"\[]([\w.-]+)['\"\]])?", "TOPIC", ""),
    (r"Not authorized to access group: (\S+)", "GROUP", "READ"),
    (r"Group ?authorization ?(?:failed|exception)", "GROUP", "READ"),
    (r"Transactional ?Id ?authorization ?(?:failed|exception)", "TRANSACTIONAL_ID", "WRITE"),
    (r"Delegation ?Token ?authorization ?(?:failed|exception)", "DELEGATION_TOKEN", "DESCRIBE"),
    (r"Request .* needs ([A-Z_]+) permission", "CLUSTER", ""),
    (r"Cluster ?authorization ?(?:failed|exception)", "CLUSTER", ""),
)
"""What exceptions and error codes say: the resource, and the operation where there is but one.

``TOPIC_AUTHORIZATION_FAILED`` of librdkafka is read with blanks in place of its underscores.
"""


def read_denial(text: str) -> Denial | str:
    """Return the request of a text, or why it cannot be read."""
    if _BEGIN in text:
        message = _message_in(text)
        if isinstance(message, str):
            return message
        return Denial(
            "a line of an authorizer log",
            message.principal,
            message.host,
            message.operation,
            message.resource_type,
            message.resource_name,
            message.outcome,
        )
    spaced = text.replace("_AUTHORIZATION_", " AUTHORIZATION ").replace("L_ID ", "L ID ")
    for pattern, kind, operation in _EXCEPTIONS:
        if (match := re.search(pattern, spaced, re.IGNORECASE)) is not None:
            named = match[1] if match.re.groups and match[1] else ""
            reading = "an exception of a client"
            # A request that needs a permission on the cluster names the permission.
            if kind == "CLUSTER":
                return Denial(reading, "", "", named, kind, CLUSTER_NAME, "DENIED")
            name, *others = [word.strip() for word in named.split(",")]
            return Denial(reading, "", "", operation, kind, name, "DENIED", len(others))
    return (
        "neither a line of an authorizer log (Principal = ... is Denied operation = ...) nor an"
        " authorization exception of a client"
    )


def _message_in(text: str) -> Message | str:
    """Return the first message of a text, which may be a whole record, or a part of one."""
    line = text.strip()
    if line.endswith(END.strip()):
        record = read_record(line)
        if isinstance(record, Record):
            return record.message
    begin = text.index(_BEGIN)
    line = text[begin:].strip().partition("\n")[0].removesuffix(END).strip()
    message = read("INFO", line)
    if isinstance(message, Message):
        return message
    return message.reason if isinstance(message, Bad) else message.why
