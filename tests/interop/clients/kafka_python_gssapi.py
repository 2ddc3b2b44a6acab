"""Describes ACLs with kafka-python over GSSAPI, again and again for a time: ADDRESS SECONDS.

Who it is stands in the ticket cache that KRB5CCNAME names.
"""

import sys
import time

from kafka import KafkaAdminClient
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.admin import ACLResourcePatternType as PatternType


def main(address, seconds):
    client = KafkaAdminClient(
        bootstrap_servers=address,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="GSSAPI",
        sasl_kerberos_service_name="kafka",
        sasl_kerberos_domain_name="localhost",
    )
    everything = ACLFilter(
        principal=None,
        host=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
        resource_pattern=ResourcePatternFilter(ResourceType.ANY, None, PatternType.ANY),
    )
    end = time.monotonic() + seconds
    client.describe_acls(everything)
    while time.monotonic() < end:
        time.sleep(0.3)
        client.describe_acls(everything)
    client.close()
    sys.stdout.write("done\n")


main(sys.argv[1], float(sys.argv[2]))
