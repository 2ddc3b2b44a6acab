"""Logs in with SCRAM or OAUTHBEARER and keeps a session busy: JSON in, JSON out.

In:  {"library": "kafka-python" or "confluent-kafka", "bootstrap": ..., "seconds": how long,
      "mechanism": ..., "user": ..., "password": for SCRAM,
      "tokens": [[from which second on, token, the time it expires at], ...] for OAUTHBEARER}
Out: {"calls": calls that succeeded, "error": class or null, "text": ..., "log": what was logged}
"""

import io
import json
import logging
import os
import sys
import time

LOG = io.StringIO()
CALL_S = 5
EXTENSIONS = {"traceId": "42"}


class Tokens:
    """The tokens of a script, by the clock."""

    def __init__(self, tokens):
        self._tokens = tokens
        self._began = time.monotonic()

    def now(self):
        """Return the token to use now, and when it expires."""
        since = time.monotonic() - self._began
        return [each[1:] for each in self._tokens if each[0] <= since][-1]


def kafka_python(script):
    """Return a call of kafka-python."""
    from kafka.admin import KafkaAdminClient

    if script["mechanism"] == "OAUTHBEARER":
        from kafka.net.sasl.oauth import AbstractTokenProvider

        tokens = Tokens(script["tokens"])

        class Provider(AbstractTokenProvider):
            def token(self):
                return tokens.now()[0]

            def extensions(self):
                return EXTENSIONS

        login = {"sasl_oauth_token_provider": Provider()}
    else:
        login = {
            "sasl_plain_username": script["user"],
            "sasl_plain_password": script["password"],
        }
    admin = KafkaAdminClient(
        bootstrap_servers=script["bootstrap"],
        bootstrap_timeout_ms=3000,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=script["mechanism"],
        **login,
    )
    return admin.describe_cluster


def confluent_kafka(script):
    """Return a call of confluent-kafka, which tells of a refusal to its error callback only."""
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient

    refusals = []

    def noted(error):
        if error.code() == KafkaError._AUTHENTICATION:
            refusals.append(error.str())

    if script["mechanism"] == "OAUTHBEARER":
        tokens = Tokens(script["tokens"])
        login = {"oauth_cb": lambda _: (*tokens.now(), script["user"], EXTENSIONS)}
    else:
        login = {"sasl.username": script["user"], "sasl.password": script["password"]}
    admin = AdminClient(
        {
            "bootstrap.servers": script["bootstrap"],
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": script["mechanism"],
            "error_cb": noted,
            "log_level": 0,
            **login,
        }
    )

    def call():
        future = admin.describe_cluster(request_timeout=CALL_S)
        while not future.done():
            admin.poll(0.02)
            if refusals:
                raise PermissionError(refusals[0])
        future.result()

    return call


def main():
    script = json.load(sys.stdin)
    logging.basicConfig(stream=LOG, level=logging.WARNING, format="%(message)s")
    answers = os.dup(1)
    os.dup2(2, 1)  # What a library prints is no answer.
    calls, error = 0, None
    end = time.monotonic() + script["seconds"]
    try:
        make = kafka_python if script["library"] == "kafka-python" else confluent_kafka
        call = make(script)
        while calls == 0 or time.monotonic() < end:
            call()
            calls += 1
            time.sleep(0.1)
    except Exception as raised:
        error = raised
    found = {
        "calls": calls,
        "error": None if error is None else type(error).__name__,
        "text": "" if error is None else str(error),
        "log": LOG.getvalue(),
    }
    with os.fdopen(answers, "w") as out:
        json.dump(found, out)
    os._exit(0)  # librdkafka would wait for what it still tries.


main()
