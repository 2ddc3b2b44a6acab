"""Hosts of ACLs that no client has."""

import pytest

from doorkeeper_pipeline.evaluation.verdicts import never_matches


@pytest.mark.parametrize(
    ("host", "networks", "reason"),
    [
        ("*", False, ""),
        ("10.0.0.1", False, ""),
        ("2001:db8:0:0:0:0:0:1", False, ""),
        ("fe80::1%eth0", False, ""),
        ("2001:db8::1", False, "as 2001:db8:0:0:0:0:0:1"),
        ("2001:db8::1", True, "as 2001:db8:0:0:0:0:0:1"),
        ("2001:DB8:0:0:0:0:0:1", True, "as 2001:db8:0:0:0:0:0:1"),
        ("::ffff:10.0.0.1", True, "as 10.0.0.1"),
        ("kafka.example.com", True, "is not an IP address"),
        ("10.0.0.01", True, "is not an IP address"),
        ("10.0.0.0/8", True, ""),
        ("10.0.0.0/8", False, "before Kafka 4.4"),
        ("2001:db8::/32", True, ""),
        ("10.0.0.0/33", True, "is not a valid network"),
    ],
)
def test_unmatchable_hosts(host: str, *, networks: bool, reason: str) -> None:
    """Kafka compares texts, and writes each address in one form."""
    found = never_matches(host, networks=networks)

    assert (reason in found) if reason else (found == "")
