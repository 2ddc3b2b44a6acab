"""One conversation with a client library: JSON in on standard input, JSON out on standard output.

In:  {"bootstrap": "host:port", "user": null or name, "password": ..., "config": {...},
      "do": [[operation, {...}]]}
Out: {"results": [{"value": ...} or {"error": class, "text": ..., "seconds": ..., "log": ...}, ...]}

"config" are keys of the library's own, by its names. An operation is a method of the driver's
session; all drivers use the same names, arguments and values, with Kafka's words: a binding is
[resource type, name, pattern type, principal, host, operation, permission], null in a filter means
any. A client that cannot connect gives its error as the only result; "log" is what the library
logged till then, since some tell the reason of a failure nowhere else. This file runs in each
client's own environment and needs no package.
"""

import io
import json
import logging
import os
import sys
import time

LOG = io.StringIO()


def run(open_session):
    """Converse with the session that ``open_session(bootstrap, user, password)`` gives."""
    script = json.load(sys.stdin)
    logging.basicConfig(stream=LOG, level=logging.WARNING, format="%(message)s")
    answers = os.dup(1)
    os.dup2(2, 1)  # What a library prints is no answer.
    results = []
    began = time.monotonic()
    try:
        login = (script["bootstrap"], script["user"], script["password"])
        session = open_session(*login, **script.get("config", {}))
    except Exception as error:
        results.append(failure(error, began))
    else:
        for name, arguments in script["do"]:
            began = time.monotonic()
            try:
                results.append({"value": getattr(session, name)(**arguments)})
            except Exception as error:
                results.append(failure(error, began))
        session.close()
    with os.fdopen(answers, "w") as out:
        json.dump({"results": results}, out)


def failure(error, began):
    """Return an error as a result."""
    return {
        "error": type(error).__name__,
        "text": str(error),
        "seconds": time.monotonic() - began,
        "log": LOG.getvalue(),
    }


def own(topics):
    """Return topic names in order, without those that Kafka itself makes."""
    return sorted(name for name in topics if not name.startswith("__"))
