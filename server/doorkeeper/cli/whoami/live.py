"""What a running cluster tells about a login.

No request asks a broker for the principal of its own connection. What can be known:

    the login is accepted, or refused with a text
    a refusal of DescribeAcls names the principal, in releases before 3.9
    a delegation token that the login creates has an owner: the principal

Source: answers of brokers: 3.6.2 has ``session=Session(User:bob,/127.0.0.1)``,
3.9.1 and later have ``session=org.apache.kafka.network.Session@28a072d5``.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acls.model import Principal
from doorkeeper.base.errors import ErrorCode
from doorkeeper.cli.acls.addresses import report_doubt
from doorkeeper.cli.repositories.sessions import list_acls
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.errors import ApiFailure, LoginRefused, code_name
from doorkeeper_wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from doorkeeper_wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.client.config import ClientConfig

_SESSION: Final = re.compile(r"\bsession=Session\((.+:.*),[^,]*/[0-9a-fA-F.:%\w]+\), ")
_TOKEN_MS: Final = 60_000
_AT_ONCE: Final = -1
_TRIES: Final = 50
_PAUSE_S: Final = 0.1


class LiveAnswer(NamedTuple):
    """What a cluster told.

    ``refusal`` is empty if the login was accepted. ``principal`` is None if nothing named it;
    ``evidence`` says what did, or why nothing could. ``bindings`` is None if the login may not list
    ACLs. ``created`` says whether a token was asked for.
    """

    refusal: str = ""
    principal: str | None = None
    evidence: str = ""
    bindings: list[AclBinding] | None = None
    created: bool = False


async def ask(config: ClientConfig, *, create_token: bool) -> LiveAnswer:
    """Log in to a cluster and ask what can be asked.

    Raises:
        ClientError: it does not answer, or answers with another error; or the login fails here.
        ValueError: an address is invalid.
    """
    async with AdminClient(config) as client:
        try:
            await client.cluster()
        except LoginRefused as error:
            # Without a code, the client has not sent the login, or has not accepted the server.
            if error.code is None:
                raise
            return LiveAnswer(refusal=str(error))
        answer = await _describe(client)
        if not create_token:
            return answer
        try:
            owner = await _owner_of_a_token(client)
        except ApiFailure as error:
            why = f"no token was created: {code_name(error.code)}"
            evidence = "; ".join(filter(None, (answer.evidence, why)))
            return answer._replace(evidence=evidence, created=True)
        return owner._replace(bindings=answer.bindings, created=True)


async def _describe(client: AdminClient) -> LiveAnswer:
    try:
        listing = await list_acls(client)
    except ApiFailure as error:
        if error.code == ErrorCode.SECURITY_DISABLED:
            return LiveAnswer(evidence="the cluster has no authorizer: everything is allowed")
        if error.code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        principal = principal_in(error.message)
        if principal is None:
            return LiveAnswer()
        return LiveAnswer(principal=principal, evidence="the error of DescribeAcls names it")
    report_doubt(listing.doubtful)
    return LiveAnswer(bindings=listing.bindings)


def principal_in(refusal: str) -> str | None:
    """Return the principal that the text of a refusal names; None if it names none."""
    session = _SESSION.search(refusal)
    return None if session is None else session[1]


async def _owner_of_a_token(client: AdminClient) -> LiveAnswer:
    """Create a token, expire it, and return its owner.

    Raises:
        ApiFailure: the cluster creates no tokens for this login.
        ClientError: it does not answer.
    """
    request = CreateDelegationTokenRequest(max_lifetime_ms=_TOKEN_MS)
    token = await client.call(request, CreateDelegationTokenResponse)
    if token.error_code:
        raise ApiFailure(token.error_code, None)
    expiry = ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=_AT_ONCE)
    code: int = ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    for _ in range(_TRIES):
        code = (await client.call(expiry, ExpireDelegationTokenResponse)).error_code
        # A broker learns of its own token from the metadata log, some milliseconds later.
        if code != ErrorCode.DELEGATION_TOKEN_NOT_FOUND:
            break
        await asyncio.sleep(_PAUSE_S)
    evidence = "it owned a delegation token that was created for this check and expired immediately"
    if code:
        evidence = (
            f"it owns the delegation token {token.token_id}, which was created for this check;"
            f" expiring it failed ({code_name(code)}), it expires in a minute"
        )
    principal = str(Principal(token.principal_type, token.principal_name))
    return LiveAnswer(principal=principal, evidence=evidence)
