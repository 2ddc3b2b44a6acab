"""A few whole frames, size prefix included, for tests of what reads frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper_wire.headers import RequestHeader, encode_request, encode_response
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from doorkeeper_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest

if TYPE_CHECKING:
    from doorkeeper_wire.message import Message

PASSWORD: Final = "swordfish"


def request(message: Message, version: int, correlation_id: int = 7) -> bytes:
    """Return a request of the client "admin"."""
    header = RequestHeader(
        api_key=message.API_KEY,
        api_version=version,
        correlation_id=correlation_id,
        client_id="admin",
    )
    return encode_request(header, message.encode(version))


def response(message: Message, version: int, correlation_id: int = 7) -> bytes:
    """Return a response."""
    return encode_response(message.API_KEY, version, correlation_id, message.encode(version))


DESCRIBE_ACLS: Final = request(
    DescribeAclsRequest(
        resource_type_filter=2,
        resource_name_filter="orders",
        pattern_type_filter=3,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    ),
    3,
)
CREATE_ACLS: Final = request(
    CreateAclsRequest(
        creations=(
            AclCreation(
                resource_type=2,
                resource_name="orders",
                resource_pattern_type=3,
                principal="User:alice",
                host="*",
                operation=3,
                permission_type=3,
            ),
        )
    ),
    1,
    8,
)
DESCRIBED: Final = response(
    DescribeAclsResponse(
        resources=(
            DescribeAclsResource(
                resource_type=2,
                resource_name="orders",
                pattern_type=3,
                acls=(
                    AclDescription(
                        principal="User:alice", host="*", operation=3, permission_type=3
                    ),
                ),
            ),
        )
    ),
    3,
)
LOGIN: Final = request(SaslAuthenticateRequest(auth_bytes=f"\0alice\0{PASSWORD}".encode()), 2, 9)
SCRAM_USER: Final = request(
    AlterUserScramCredentialsRequest(
        upsertions=(
            ScramCredentialUpsertion(
                name="alice",
                mechanism=1,
                iterations=4096,
                salt=b"salt-salt",
                salted_password=PASSWORD.encode(),
            ),
        )
    ),
    0,
    10,
)
CONFIG_CHANGE: Final = request(
    IncrementalAlterConfigsRequest(
        resources=(
            AlterConfigsResource(
                resource_type=4,
                resource_name="1",
                configs=(
                    AlterableConfig(
                        name="ssl.keystore.password", config_operation=0, value=PASSWORD
                    ),
                    AlterableConfig(name="log.cleaner.threads", config_operation=0, value="2"),
                ),
            ),
        )
    ),
    1,
    11,
)


def with_size(body: bytes) -> bytes:
    """Return bytes behind their size."""
    return len(body).to_bytes(4, "big") + body
