"""Limits of client software: ACLs that some clients cannot parse are withheld from them.

Some clients fail on a whole response because of one row with a newer resource type or operation,
or because of its size. Rules of the configuration, by software name and version, name the limits;
without rules, the default, every client gets a broker's response.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.client_rules import ClientRule, ClientSoftware, rule_for
from doorkeeper.server.config.keys import CLIENTS_WITHHOLD
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.net.protocol.exchange import Counts, LogEvent, Login
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResource, DescribeAclsResponse

HOLDS_ACLS: Final[frozenset[type]] = frozenset({DescribeAclsResponse, DeleteAclsResponse})
"""The responses that the rules apply to."""

NAMES_SOFTWARE_FROM: Final = 3
"""The first version of ApiVersions with the client's software name (KIP-511)."""


class ClientLimits:
    """The rules as they apply to one connection."""

    __slots__ = ("_noted", "client", "software")

    def __init__(self) -> None:
        self.client = ClientSoftware()
        """The software that selects the rule."""
        self._noted = False
        self.software = ""
        """The software as ``name/version``; empty before the client names it."""

    def identify(self, request: ApiVersionsRequest, version: int) -> None:
        """Take the software name and version from an ApiVersions request."""
        if version >= NAMES_SOFTWARE_FROM:
            self.client = ClientSoftware(
                request.client_software_name, request.client_software_version
            )
            self.software = f"{self.client.name}/{self.client.version}"

    def readable(self, response: Any, rules: Iterable[ClientRule]) -> tuple[Any, int]:  # noqa: ANN401 - one of HOLDS_ACLS
        """Return the response without withheld ACLs, and the number of these."""
        rule = rule_for(rules, self.client)
        if rule is None:
            return response, 0
        if response.__class__ is DescribeAclsResponse:
            resources, withheld = _readable_resources(response.resources, *rule.numbers)
            return response.replace(resources=resources), withheld
        results, withheld = _readable_matches(response.filter_results, *rule.numbers)
        return response.replace(filter_results=results), withheld

    def withhold(
        self,
        response: object,
        settings: Settings,
        counts: Counts,
        events: list[LogEvent | Login],
    ) -> Any:  # noqa: ANN401 - the same
        """Return the readable response; count withheld ACLs, and log the first time."""
        kept, withheld = self.readable(response, settings[CLIENTS_WITHHOLD])
        if withheld:
            counts.withheld_acls += withheld
            # Once for each connection: a client that polls would fill the log.
            if not self._noted:
                self._noted = True
                name, version = self.client
                fields = {"acls": withheld, "software": name, "software_version": version}
                events.append(LogEvent("ACLs are withheld that the client cannot read", fields))
        return kept

    def too_large(
        self, response: object, size: int, rules: Iterable[ClientRule]
    ) -> ApiError | None:
        """Return the refusal of a response that is too large for the client."""
        rule = rule_for(rules, self.client)
        # Never for DeleteAcls: the ACLs are deleted, and an error would say that they are not.
        if rule is None or size <= rule.numbers[0] or response.__class__ is DeleteAclsResponse:
            return None
        return ApiError(
            ErrorCode.POLICY_VIOLATION,
            f"The answer has {size} bytes, and {rule.software} may get {rule.numbers[0]}: ask with"
            " a narrower filter.",
        )


def _readable_resources(
    resources: Iterable[DescribeAclsResource], type_max: int, operation_max: int
) -> tuple[tuple[DescribeAclsResource, ...], int]:
    """Return the rows within these codes; a resource without ACLs is left out too."""
    kept = []
    withheld = 0
    for resource in resources:
        acls = tuple(
            acl
            for acl in resource.acls
            if resource.resource_type <= type_max and acl.operation <= operation_max
        )
        withheld += len(resource.acls) - len(acls)
        # A row without ACLs would be a pattern that does not exist.
        if acls:
            kept.append(resource.replace(acls=acls))
    return tuple(kept), withheld


def _readable_matches(
    results: Iterable[DeleteAclsFilterResult], type_max: int, operation_max: int
) -> tuple[tuple[DeleteAclsFilterResult, ...], int]:
    """Return DeleteAcls results within these codes; the deletion itself is not affected."""
    kept = []
    withheld = 0
    for result in results:
        matching = tuple(
            acl
            for acl in result.matching_acls
            if acl.resource_type <= type_max and acl.operation <= operation_max
        )
        withheld += len(result.matching_acls) - len(matching)
        kept.append(result.replace(matching_acls=matching))
    return tuple(kept), withheld
