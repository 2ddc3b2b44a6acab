"""Drives the users of kafka-python 3, logged in by SCRAM-SHA-512."""

import conversation
from kafka.admin import (
    KafkaAdminClient,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

MECHANISMS = {
    "SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256,
    "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512,
}
NAMES = {int(mechanism): name for name, mechanism in MECHANISMS.items()}


class Refused(Exception):
    """The server's error for a user."""


class Session:
    """One KafkaAdminClient."""

    def __init__(self, bootstrap, user, password):
        # It tells of a refused login only by the time-out of its bootstrap, 30 s if not set.
        self.admin = KafkaAdminClient(
            bootstrap_servers=bootstrap,
            bootstrap_timeout_ms=3000,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_plain_username=user,
            sasl_plain_password=password,
        )
        self.close = self.admin.close

    def put(self, user, mechanism, iterations, password):
        self._alter(
            UserScramCredentialUpsertion(
                user, MECHANISMS[mechanism], password, iterations=iterations
            )
        )

    def delete(self, user, mechanism):
        self._alter(UserScramCredentialDeletion(user, MECHANISMS[mechanism]))

    def _alter(self, alteration):
        for error in self.admin.alter_user_scram_credentials([alteration]).values():
            if error is not None:
                raise Refused(str(error))

    def users(self):
        found = self.admin.describe_user_scram_credentials()
        return {
            user: {
                NAMES[int(info["mechanism"])]: info["iterations"]
                for info in row["credential_infos"]
            }
            for user, row in found.items()
        }


conversation.run(Session)
