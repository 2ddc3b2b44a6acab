"""A test broker for the tests of franz-go's kfake (``tests/interop/clients/go/kfake``).

Reads a line of JSON with the options, prints the address, and ends with its input.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from doorkeeper.testing import DoorkeeperServer


def start(options: dict[str, Any]) -> DoorkeeperServer:
    """Return the server of a cluster, not started."""
    without = {} if options["acls_enabled"] else {"authorizer.class.name": ""}
    return DoorkeeperServer(
        listeners=["SASL_PLAINTEXT" if options["sasl"] else "PLAINTEXT"],
        users=options["users"],
        super_users=options["super_users"],
        topics=options["topics"],
        acls=options["acls"],
        records=True,
        properties=without,
    )


if __name__ == "__main__":
    with start(json.loads(sys.stdin.readline())) as server:
        sys.stdout.write(f"{server.bootstrap_servers}\n")
        sys.stdout.flush()
        sys.stdin.read()
