"""Runs every command of kafka-python's command line; takes the server's address."""

import contextlib
import io
import itertools
import json
import logging
import re
import sys

from calls import Calls, tell, until
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.cli.admin import DEFAULT_COMMAND_GROUPS, run_cli

LINES = (
    "topics create -t a --num-partitions 2 --replication-factor 1",
    "topics create -t a --num-partitions 1 --replication-factor 1",
    "topics create -t c --num-partitions 1 --replication-factor 2",
    "topics list",
    "topics describe -t a",
    "topics describe -t none",
    "partitions create -p a:3",
    "partitions create -p a:2",
    "partitions create -p none:2",
    "partitions describe -t a",
    "partitions list-offsets -t a -s latest",
    "partitions list-offsets -p a:0:earliest",
    "partitions list-offsets -p a:0:max-timestamp",
    "partitions delete-records -r a:0:0",
    "partitions delete-records -r a:0:5",
    "partitions elect-leaders -p a:0",
    "partitions elect-leaders -p a:0 --election-type unclean --no-raise-errors",
    "partitions alter-reassignments -r a:0=1",
    "partitions alter-reassignments -r a:0=7",
    "partitions list-reassignments",
    "cluster describe",
    "cluster describe-quorum",
    "cluster api-versions -k Metadata",
    "cluster broker-version --broker 1",
    "cluster describe-features -f metadata.version",
    "cluster update-features -f no.such.feature=1",
    "cluster describe-log-dirs --topic a",
    "cluster alter-log-dirs -a a:0:1=/no/such/folder",
    "configs alter -r topic -n a -c retention.ms=1000",
    "configs alter -r topic -n a -c retention.ms=often",
    "configs alter -r topic -n a -c no.such.key=1",
    "configs alter -r broker -n 1 -c message.max.bytes=2000000",
    "configs describe -r topic -n a --modified",
    "configs describe -r topic -n a",
    "configs describe -r topic -n none",
    "configs list",
    "configs reset -r topic -n a -c retention.ms",
    "configs reset -r broker -n 1 -c message.max.bytes",
    "acls create --principal User:alice --operation read --resource-type topic --resource-name a",
    "acls describe --principal User:alice",
    "acls delete --principal User:alice",
    "groups alter-offsets -g g -o a:0:0 -o a:1:3",
    "groups list",
    "groups describe -g g",
    "groups list-offsets -g g",
    "groups reset-offsets -g g -p a:0 -s earliest",
    "groups reset-offsets -g g -p a:0 --to-offset 4",
    "groups remove-members -g g -m none",
    "groups delete-offsets -g g -p a:1",
    "groups delete -g g",
    "groups delete -g none",
    "transactions list",
    "transactions describe --transactional-id none",
    "transactions describe-producers -t a -p 0",
    "transactions find-hanging",
    "transactions abort -t a -p 0 --producer-id 1 --producer-epoch 0",
    "users alter-scram-credentials --upsert u:SCRAM-SHA-256:secret --iterations 4096",
    "users describe-scram-credentials --user u",
    "users alter-scram-credentials --delete u:SCRAM-SHA-256",
    "users alter-scram-credentials --delete u:SCRAM-SHA-256",
    "topics delete -t a",
    "topics delete -t none",
)

address = sys.argv[1]
admin = KafkaAdminClient(bootstrap_servers=address)
numbers = itertools.count()
log = io.StringIO()
logging.basicConfig(stream=log, format="%(message)s")


def settled():
    """Create an ACL and delete it: whatever was changed before is in force then."""
    name = f"barrier-{next(numbers)}"
    parts = ("User:barrier", "*", ACLOperation.READ, ACLPermissionType.ALLOW)
    mark = ACLFilter(
        *parts, ResourcePatternFilter(ResourceType.TOPIC, name, ACLResourcePatternType.LITERAL)
    )
    admin.create_acls([ACL(*parts, ResourcePattern(ResourceType.TOPIC, name))])
    until(lambda: admin.describe_acls(mark)[0])
    admin.delete_acls([mark])
    until(lambda: not admin.describe_acls(mark)[0])


def in_order(value):
    """Return a value of JSON with its lists sorted."""
    if isinstance(value, dict):
        return {key: in_order(part) for key, part in sorted(value.items())}
    return sorted(map(in_order, value), key=repr) if isinstance(value, list) else value


class Refused(Exception):
    """The command ended with a status; the text is what it wrote."""


def run(line):
    """Run one command and return what it wrote."""
    log.seek(0)
    log.truncate()
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        try:
            status = run_cli(["-b", address, "--format", "json", *line.split()])
        except SystemExit as end:
            status = end.code
    text = written.getvalue()
    if status:
        last = [
            row for row in log.getvalue().splitlines() if re.match(r"[\w.]+(Error|Exception)", row)
        ]
        raise Refused(f"{status} {text} {last[-1:]}")
    return in_order(json.loads(text))


calls = Calls(admin, settled)
known = {
    f"{group.GROUP} {each.COMMAND}" for group in DEFAULT_COMMAND_GROUPS for each in group.COMMANDS
}
seen = {}
for line in LINES:
    seen[line] = seen.get(line, 0) + 1
    name = line if seen[line] == 1 else f"{line} (again)"
    calls.change(name, lambda line=line: run(line))
missing = known - {" ".join(line.split()[:2]) for line in LINES}
tell("missing", " ".join(sorted(each.replace(" ", ":") for each in missing)))
