"""What the applications share: names, settings from the environment, and how they end.

They are configured as services are: KAFKA_BOOTSTRAP_SERVERS, KAFKA_USER and KAFKA_PASSWORD. The
name of the task is the argument; the exit status is 0 if it is done, else 1, with the error.
"""

import os
import sys

TOPIC, TARGET, GROUP, TRANSACTION, MADE = "orders", "bills", "readers", "billing", "made"
LIMIT_S = 15
ADDRESS = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
USER, PASSWORD = os.environ["KAFKA_USER"], os.environ["KAFKA_PASSWORD"]
PYTHON_CLIENT = {
    "bootstrap_servers": ADDRESS,
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": USER,
    "sasl_plain_password": PASSWORD,
}


def run(*tasks):
    """Run the task whose name is the argument."""
    (task,) = (each for each in tasks if each.__name__ == sys.argv[1])
    try:
        task()
    except Exception as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
        # Clients with threads of their own would go on trying.
        os._exit(1)
