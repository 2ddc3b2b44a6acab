"""The error code that stands for a whole answer, where somebody counts answers by their error.

Answers have a code of their own, or one for each item, or both. Where the answer's own says
nothing, the first item with an error stands for all: a broker counts each item instead.

Source: ``AbstractResponse.errorCounts``, which differs as said.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from doorkeeper_wire.messages.alter_configs import AlterConfigsResponse
from doorkeeper_wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsResponse
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.create_topics import CreateTopicsResponse
from doorkeeper_wire.messages.delete_acls import DeleteAclsResponse
from doorkeeper_wire.messages.delete_topics import DeleteTopicsResponse
from doorkeeper_wire.messages.describe_configs import DescribeConfigsResponse
from doorkeeper_wire.messages.describe_groups import DescribeGroupsResponse
from doorkeeper_wire.messages.describe_topic_partitions import DescribeTopicPartitionsResponse
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsResponse,
)
from doorkeeper_wire.messages.find_coordinator import FindCoordinatorResponse
from doorkeeper_wire.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from doorkeeper_wire.messages.metadata import MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.node import Response

ITEMS: Final[dict[type, Callable[[Any], Any]]] = {
    AlterConfigsResponse: attrgetter("responses"),
    AlterUserScramCredentialsResponse: attrgetter("results"),
    CreateAclsResponse: attrgetter("results"),
    CreateTopicsResponse: attrgetter("topics"),
    DeleteAclsResponse: attrgetter("filter_results"),
    DeleteTopicsResponse: attrgetter("responses"),
    DescribeConfigsResponse: attrgetter("results"),
    DescribeGroupsResponse: attrgetter("groups"),
    DescribeTopicPartitionsResponse: attrgetter("topics"),
    DescribeUserScramCredentialsResponse: attrgetter("results"),
    FindCoordinatorResponse: attrgetter("coordinators"),
    IncrementalAlterConfigsResponse: attrgetter("responses"),
    MetadataResponse: attrgetter("topics"),
}
"""Where the items are, of answers whose items have codes."""


def code_of(response: Response) -> int:
    """Return the error code that stands for an answer; 0 where nothing in it failed."""
    items_of = ITEMS.get(response.__class__)
    own: int = getattr(response, "error_code", 0)
    if own or items_of is None:
        return own
    for item in items_of(response) or ():
        if item.error_code:
            code: int = item.error_code
            return code
    return 0
