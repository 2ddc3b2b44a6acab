"""Drives the users of confluent-kafka (librdkafka), logged in by SCRAM-SHA-512."""

import conversation
from confluent_kafka import KafkaError
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

LIMIT_S = 10
MECHANISMS = {
    "SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256,
    "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512,
}
NAMES = {mechanism: name for name, mechanism in MECHANISMS.items()}


class AuthenticationError(Exception):
    """librdkafka reports it to the error callback only and then tries again."""


class Session:
    """One AdminClient."""

    def __init__(self, bootstrap, user, password):
        self.refusals = []
        config = {
            "bootstrap.servers": bootstrap,
            "error_cb": self._note,
            "log_level": 0,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": password,
        }
        self.admin = AdminClient(config)
        first = self.admin.describe_cluster(request_timeout=LIMIT_S)
        while not first.done():
            self.admin.poll(0.02)
            if self.refusals:
                raise AuthenticationError(self.refusals[0])
        first.result()

    def close(self):
        del self.admin

    def _note(self, error):
        if error.code() == KafkaError._AUTHENTICATION:
            self.refusals.append(error.str())

    def put(self, user, mechanism, iterations, password):
        info = ScramCredentialInfo(MECHANISMS[mechanism], iterations)
        self._alter(UserScramCredentialUpsertion(user, info, password.encode()))

    def delete(self, user, mechanism):
        self._alter(UserScramCredentialDeletion(user, MECHANISMS[mechanism]))

    def _alter(self, alteration):
        for future in self.admin.alter_user_scram_credentials(
            [alteration], request_timeout=LIMIT_S
        ).values():
            future.result()

    def users(self):
        found = self.admin.describe_user_scram_credentials(None, request_timeout=LIMIT_S).result()
        return {
            user: {NAMES[i.mechanism]: i.iterations for i in description.scram_credential_infos}
            for user, description in found.items()
        }


conversation.run(Session)
