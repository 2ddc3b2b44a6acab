"""Sessions of kafka-python and confluent-kafka that log in and call for a while."""

import json
import os
import subprocess
from typing import Any

from testkit.clients import CLIENTS, DRIVERS
from testkit.or_skip import or_skip

LIBRARIES = {"kafka-python": "kafka-python-3", "confluent-kafka": "confluent-kafka"}
SESSION_S = 60
ATTEMPTS = 10


def held(library: str, address: str, mechanism: str, *, seconds: float = 0, **login: Any) -> Any:
    """Return how a session went: ``calls``, ``error``, ``text`` and ``log``."""
    [client] = [each for each in CLIENTS if each.name == LIBRARIES[library]]
    script = {"library": library, "bootstrap": address, "mechanism": mechanism, "user": "alice"}
    python = or_skip(lambda: client._environment() / "bin" / "python")
    done = subprocess.run(
        [python, DRIVERS / "session.py"],
        input=json.dumps(script | {"seconds": seconds} | login),
        capture_output=True,
        text=True,
        timeout=SESSION_S,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refusal(library: str, address: str, mechanism: str, expected: str, **login: Any) -> str:
    """Return all that a library tells of a refusal; nothing may come of the session.

    On a busy machine kafka-python may see that a broker has closed before it sees why.
    """
    text = ""
    for _ in range(ATTEMPTS):
        bad = held(library, address, mechanism, **login)
        assert bad["calls"] == 0
        text = bad["text"] + bad["log"]
        if expected in text:
            break
    return text
