"""The options of ``doorkeeper`` and ``doorkeeper-pipeline``: one name, one meaning, one text.

A command makes an option by its name; what it adds is the type, the default, whether it may be
repeated, and its own text where the common one would not be true for it. A name that is not in the
table is an error of the program. ``acls add``, ``remove`` and ``list`` have the names of
kafka-acls.sh, other commands those that mean the same: --force is --yes, and --bootstrap-server is
an ADDRESS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from doorkeeper.cli.vocabulary.commands import (
    CONNECTION,
    ENGINE,
    EVIDENCE,
    OPTIONS,
    OUTPUT,
    POLICY,
    QUESTION,
    Option,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Decorated = TypeVar("Decorated", bound="Callable[..., Any] | click.Command")


class Meaning(NamedTuple):
    """The heading of an option, its metavar, and its help text.

    The help shows the choices of a command in place of the metavar. It is None for flags, and for
    choices that are a matter of the command.
    """

    heading: str
    metavar: str | None
    text: str


VOCABULARY: Final[Mapping[str, Meaning]] = {
    # The request, the ACLs, the changes or the events that a command is about.
    "--principal": Meaning(QUESTION, "TYPE:NAME", "The principal, such as User:alice."),
    "--allow-principal": Meaning(QUESTION, "TYPE:NAME", "The principal to allow."),
    "--deny-principal": Meaning(QUESTION, "TYPE:NAME", "The principal to deny."),
    "--allow-host": Meaning(QUESTION, "HOST", "The host to allow."),
    "--deny-host": Meaning(QUESTION, "HOST", "The host to deny."),
    "--exclude-principal": Meaning(
        QUESTION,
        "TYPE:NAME",
        "Exclude this principal from percentages and findings, for example a tool that is always"
        " denied. The output shows how many decisions are excluded; they stay in the tables.",
    ),
    "--author": Meaning(QUESTION, "TYPE:NAME", "The principal that made the change."),
    "--operation": Meaning(QUESTION, "OPERATION", "The operation: Read, Write, Describe, ..."),
    "--host": Meaning(
        QUESTION,
        "HOST",
        "The address of the client, or a network such as 10.0.0.0/8 for all its addresses; *"
        " is all hosts. In the question about a single request, explain takes * as an address"
        " that no ACL names.",
    ),
    "--topic": Meaning(QUESTION, "NAME", "The topic."),
    "--group": Meaning(QUESTION, "NAME", "The group."),
    "--cluster": Meaning(QUESTION, None, "The cluster itself, as a resource."),
    "--transactional-id": Meaning(QUESTION, "ID", "The transactional id."),
    "--delegation-token": Meaning(QUESTION, "ID", "The delegation token."),
    "--user-principal": Meaning(
        QUESTION, "TYPE:NAME", "The user whose delegation tokens are the resource."
    ),
    "--resource": Meaning(QUESTION, "NAME", "A name that the changed ACLs cover, of any type."),
    "--resource-type": Meaning(QUESTION, "TYPE", "The type of the resource, such as topic."),
    "--resource-pattern-type": Meaning(
        QUESTION,
        "TYPE",
        "How to interpret the name.",
    ),
    "--producer": Meaning(
        QUESTION, None, "The ACLs of a producer: Write, Describe and Create on topics."
    ),
    "--consumer": Meaning(
        QUESTION, None, "The ACLs of a consumer: Read and Describe on topics, Read on groups."
    ),
    "--idempotent": Meaning(QUESTION, None, "With --producer: IdempotentWrite on the cluster too."),
    "--task": Meaning(
        QUESTION,
        "TASK",
        "Ask for all permissions that a task needs, instead of one --operation.",
    ),
    "--with": Meaning(
        QUESTION, "ROW|FILE", "Answer as if this ACL, or those of a file, were added."
    ),
    "--without": Meaning(
        QUESTION, "ROW|FILE", "Answer as if this ACL, or those of a file, were removed."
    ),
    "--at": Meaning(
        QUESTION,
        "MOMENT",
        "Answer as of a revision, a time such as 2026-11-26T14:30Z, or '2 days ago': from the"
        " history of a store or a backup.",
    ),
    "--left-at": Meaning(QUESTION, "MOMENT", "Take LEFT as of this moment, from its history."),
    "--right-at": Meaning(QUESTION, "MOMENT", "Take RIGHT as of this moment, from its history."),
    "--left-topic-prefix": Meaning(
        QUESTION,
        "PREFIX",
        "Add PREFIX to the topic names of LEFT before comparing, as MirrorMaker does; src. for a"
        " source cluster named src.",
    ),
    "--since": Meaning(
        QUESTION,
        "MOMENT",
        "Only changes after this moment: a time such as 2026-11-26T14:30Z, '2 hours ago', or a"
        " revision.",
    ),
    "--until": Meaning(QUESTION, "MOMENT", "Only changes up to this moment."),
    "--kind": Meaning(QUESTION, "KIND", "The kind of the change or event."),
    "--own-prefix": Meaning(
        QUESTION, "PREFIX", "Select the ACLs of resources whose names begin with PREFIX."
    ),
    "--own-principal": Meaning(QUESTION, "TYPE:NAME", "Select the ACLs of this principal."),
    "--own-type": Meaning(
        QUESTION, "TYPE", "Select the ACLs of resources of this type, such as topic."
    ),
    "--whole": Meaning(QUESTION, None, "Own all ACLs of ADDRESS: those not in WANTED are removed."),
    "--select": Meaning(
        QUESTION, "CODE,...", "Report only these codes, or codes with these prefixes."
    ),
    "--ignore": Meaning(
        QUESTION, "CODE,...", "Do not report these codes, or codes with these prefixes."
    ),
    "--implied": Meaning(
        QUESTION,
        None,
        "Also report DESCRIBE ACLs that READ or WRITE already imply, as created by"
        " kafka-acls.sh --producer and --consumer.",
    ),
    "--cluster-name": Meaning(
        QUESTION,
        "NAME",
        "The Kafka cluster, if the tables have several.",
    ),
    "--effective": Meaning(
        QUESTION,
        None,
        "Show the decisions that change, by principal, name, host and operation, with an example"
        " of each.",
    ),
    # What is checked, changed or run.
    "--accept": Meaning(
        OPTIONS,
        "RULE",
        "Make a change that this rule refuses.",
    ),
    "--accept-lost-access": Meaning(
        OPTIONS,
        None,
        "Propose although there is not enough evidence: principals may lose access that they need.",
    ),
    "--acls": Meaning(OPTIONS, "ADDRESS", "The current ACLs."),
    "--all": Meaning(OPTIONS, None, "Delete the dynamic values of all keys."),
    "--allow-changes": Meaning(
        OPTIONS,
        None,
        "Let operators apply plans and accept findings in the browser, after a preview and a typed"
        " confirmation. Without a login (on localhost), everybody is an operator.",
    ),
    "--allow-wider": Meaning(
        OPTIONS,
        None,
        "Accept ACLs that allow more than the current ones. What they newly allow is listed.",
    ),
    "--assert": Meaning(
        OPTIONS,
        "FILE",
        "Check the rules of this file, like doorkeeper acls assert does, with the ACLs that the"
        " plan leads to; 'no more than before' compares them with the current ones.",
    ),
    "--before": Meaning(
        OPTIONS, "ADDRESS", "The earlier ACLs, for rules of the kind 'no more than before'."
    ),
    "--broker": Meaning(
        OPTIONS,
        None,
        "The files are the configurations of the brokers and controllers of one Kafka cluster.",
    ),
    "--no-stores": Meaning(
        OPTIONS, None, "Do not read the key stores that the files name: another machine has them."
    ),
    "--compose": Meaning(
        OPTIONS, "FILE", "A Compose file, whose services with an image of Kafka are nodes too."
    ),
    "--no-jaas-file": Meaning(OPTIONS, None, "The brokers have no JAAS file."),
    "--strict": Meaning(OPTIONS, None, "Treat warnings as errors."),
    "--container": Meaning(
        OPTIONS,
        None,
        "Write a configuration for the container image: listen on all addresses, keep the store in"
        " the volume /var/lib/doorkeeper, and serve the health checks.",
    ),
    "--check": Meaning(
        OPTIONS, "FILE", "Enforce exactly the ACLs in this file, in any format of acls import."
    ),
    "--delete-topics": Meaning(
        OPTIONS,
        None,
        "Delete owned topics that are not in WANTED, with all their records. By default they are"
        " kept.",
    ),
    "--different-servers": Meaning(
        OPTIONS,
        None,
        "Accept audit logs and kafka-authorizer.log files from the same time, because they are"
        " from different servers. By default they are rejected: a server that writes both records"
        " each decision twice.",
    ),
    "--dry-run": Meaning(OPTIONS, None, "Show the changes without making them."),
    "--fail-on": Meaning(
        OPTIONS,
        "CASE",
        "Exit with 1 in this case.",
    ),
    "--follow": Meaning(
        OPTIONS,
        "SECONDS",
        "Run until Ctrl-C or SIGTERM, and look for new files, records and ACLs at this interval.",
    ),
    "--force": Meaning(OPTIONS, None, "Do not ask before the removal, like kafka-acls.sh --force."),
    "--history": Meaning(OPTIONS, "ADDRESS", "The store with the history."),
    "--include-optional": Meaning(
        OPTIONS,
        None,
        "Include the ACLs for requests that would still succeed without them, but with a shorter"
        " response, such as a list of topics.",
    ),
    "--iterations": Meaning(OPTIONS, "NUMBER", "The number of iterations of the hash."),
    "--keep": Meaning(
        OPTIONS, "DAYS", "Keep this many days; remove older decisions, lines and ACLs."
    ),
    "--forget": Meaning(OPTIONS, "NAME", "Remove all rows of this principal or address."),
    "--vacuum-hours": Meaning(
        OPTIONS,
        "HOURS",
        "Delete replaced files this many hours after they were replaced. With 0, queries"
        " that are still reading them fail.",
    ),
    "--known-topics": Meaning(
        OPTIONS,
        "FILE",
        "A file of existing topics, one name per line, as printed by kafka-topics.sh --list; for"
        " W009.",
    ),
    "--known-users": Meaning(
        OPTIONS, "FILE", "A file of users with credentials, one name per line; for W008."
    ),
    "--log": Meaning(
        OPTIONS,
        "PATH",
        "A log of decisions: Doorkeeper's audit log, kafka-authorizer.log, or the audit log of"
        " Redpanda or Confluent.",
    ),
    "--max-quarantined": Meaning(
        OPTIONS, "PERCENT", "Fail if a larger percentage of the lines cannot be parsed."
    ),
    "--max-removals": Meaning(OPTIONS, "NUMBER", "The maximum number of removals."),
    "--mechanism": Meaning(OPTIONS, None, "The SCRAM mechanism."),
    "--method": Meaning(
        OPTIONS,
        "METHOD",
        "unused: remove ACLs that were not needed; overbroad: replace wide ACLs with narrower ones"
        " that cover the observed use; least-privilege: replace all ACLs of the principals.",
    ),
    "--new-password": Meaning(
        OPTIONS,
        "USER",
        "Set this user's password again to the one in WANTED. Without it, an existing user keeps"
        " its password, because a cluster does not return passwords.",
    ),
    "--other-address": Meaning(OPTIONS, None, "Apply a plan that was made for another address."),
    "--overwrite": Meaning(OPTIONS, None, "Replace existing files."),
    "--password-file": Meaning(
        OPTIONS, "FILE", "Take the first line as the password; - is standard input."
    ),
    "--pattern": Meaning(
        OPTIONS,
        "PATTERN",
        "The layout of log4j or log4j2 of the logs, such as '%d{ISO8601} %p %m (%c) [%t]%n'; common"
        " ones are recognised.",
    ),
    "--plan": Meaning(OPTIONS, None, "WANTED is the file of a plan."),
    "--prefixes": Meaning(
        OPTIONS,
        None,
        "Propose one prefixed ACL for names with a common prefix, to get fewer ACLs. A prefix"
        " that allows more than the current ACLs also requires --allow-wider.",
    ),
    "--proposal": Meaning(
        OPTIONS, "FILE", "The complete proposed set of ACLs, in any format of acls import."
    ),
    "--rebuild": Meaning(OPTIONS, None, "Read all files again, including those already read."),
    "--recorded": Meaning(
        OPTIONS, "REVISION:HASH", "A hash that was recorded elsewhere, as REVISION:HASH."
    ),
    "--recorded-in": Meaning(
        OPTIONS, "FILE", "A file with recorded hashes, such as a server's log."
    ),
    "--sensitive": Meaning(
        OPTIONS,
        "PREFIX",
        "Topics with this prefix, such as pii., are sensitive: ACLs on them have severity HIGH.",
    ),
    "--source": Meaning(
        OPTIONS, None, "The kind of the logs, if it cannot be detected from their first lines."
    ),
    "--topics": Meaning(
        OPTIONS,
        "FILE",
        "Create the topics that are listed in this ACL file on the temporary server.",
    ),
    "--tables": Meaning(
        OPTIONS,
        "FOLDER",
        "The folder of the tables, or its address in an object store, such as s3a://bucket/access.",
    ),
    "--timeout": Meaning(OPTIONS, "SECONDS", "How long to wait."),
    "--wait": Meaning(
        OPTIONS,
        "REVISION",
        "Wait until all clusters with mode enforce have this revision of the store or a later one.",
    ),
    "--yes": Meaning(OPTIONS, None, "Do not ask before the change."),
    "--zone": Meaning(
        OPTIONS, "ZONE", "The time zone of timestamps without one, as in kafka-authorizer.log."
    ),
    "--cert": Meaning(
        QUESTION, "FILE", "The certificate of a client, PEM or DER; the first of a chain."
    ),
    "--token": Meaning(QUESTION, "FILE", "A file with a JSON Web Token."),
    "--kerberos": Meaning(
        QUESTION, "NAME", "The name of a Kerberos principal: primary@REALM, primary/host@REALM."
    ),
    "--user": Meaning(QUESTION, "NAME", "The name of a login by SCRAM or PLAIN."),
    "--default-realm": Meaning(
        QUESTION, "REALM", "The default realm of the broker's krb5.conf, for --kerberos."
    ),
    "--listener": Meaning(QUESTION, "NAME", "The listener of --config that clients connect to."),
    "--create-token": Meaning(
        QUESTION,
        None,
        "Find the principal by creating a delegation token, which is expired immediately."
        " Requires delegation.token.secret.key on the cluster.",
    ),
    # How much history an advice needs.
    "--brokers": Meaning(
        EVIDENCE,
        "NUMBER",
        "The number of brokers and controllers that write a log; fewer logs are not enough"
        " evidence. 0 disables the check.",
    ),
    "--min-coverage": Meaning(
        EVIDENCE,
        "PERCENT",
        "The percentage of the days between the first and the last decision on which each"
        " broker's log must contain decisions.",
    ),
    "--min-agreement": Meaning(
        EVIDENCE,
        "PERCENT",
        "The percentage of recorded decisions that the ACLs of --acls must reproduce.",
    ),
    "--min-start-days": Meaning(
        EVIDENCE,
        "DAYS",
        "The days of history required to remove an ACL that clients use only at startup or when"
        " creating something, such as IDEMPOTENT_WRITE, or that other ACLs seem to cover.",
    ),
    "--min-days": Meaning(EVIDENCE, "DAYS", "The days of history required to remove an ACL."),
    "--advice": Meaning(
        EVIDENCE, "FOLDER", "The tables that doorkeeper-pipeline report --data has written."
    ),
    "--findings": Meaning(
        EVIDENCE,
        "FILE",
        "The file written by report --findings; findings with accepted_until today or later are"
        " accepted.",
    ),
    # What decides besides the ACLs.
    "--super-user": Meaning(
        POLICY, "TYPE:NAME", "A super user, such as User:admin; repeat for each, '' for none."
    ),
    "--allow-everyone": Meaning(POLICY, None, "The value of allow.everyone.if.no.acl.found."),
    "--kafka": Meaning(
        POLICY,
        "RELEASE",
        "The Kafka release whose rules apply. From 4.4 on, a host may be a network.",
    ),
    "--port": Meaning(OPTIONS, "PORT", "The port of the HTTP server."),
    "--bind": Meaning(
        OPTIONS,
        "HOST",
        "The address to listen on. One that other machines reach requires TLS and a login.",
    ),
    "--url": Meaning(OPTIONS, "URL", "The address that browsers use; others are refused."),
    "--tls-certificate": Meaning(
        OPTIONS,
        "FILE",
        "A PEM file with the certificate of the HTTPS server, followed by its chain.",
    ),
    "--tls-key": Meaning(
        OPTIONS, "FILE", "A PEM file with the private key of the HTTPS server, not encrypted."
    ),
    "--viewers": Meaning(
        OPTIONS, "FILE", "A file of users, written by doorkeeper users-file, who may view."
    ),
    "--operators": Meaning(
        OPTIONS,
        "FILE",
        "A file of users, written by doorkeeper users-file, who may view and make changes.",
    ),
    "--oidc-issuer": Meaning(
        OPTIONS, "URL", "The issuer of OpenID Connect, where people log in, such as a realm."
    ),
    "--oidc-client": Meaning(OPTIONS, "ID", "The client id at the issuer."),
    "--oidc-secret": Meaning(
        OPTIONS, "FILE", "A file with the secret of the client; none for a public client."
    ),
    "--oidc-ca": Meaning(
        OPTIONS, "FILE", "Trust these certificates of the issuer, PEM, in place of the system's."
    ),
    "--oidc-viewer": Meaning(
        OPTIONS,
        "CLAIM=VALUE",
        "Users with this claim are viewers. The value * matches any value; if the claim is a list,"
        " one matching element is enough.",
    ),
    "--oidc-operator": Meaning(
        OPTIONS,
        "CLAIM=VALUE",
        "Users with this claim are operators: they may also make changes. Same form as"
        " --oidc-viewer.",
    ),
    "--config": Meaning(POLICY, "FILE", "The server.properties of the server or broker."),
    "--override": Meaning(
        POLICY,
        "KEY=VALUE",
        "Override a key of the server's configuration, such as doorkeeper.log.levels=root=DEBUG.",
    ),
    "--jaas-file": Meaning(POLICY, "FILE", "A JAAS file with login modules."),
    # Where the ACLs are, and the login.
    "--bootstrap-server": Meaning(
        CONNECTION, "HOST:PORT,...", "The brokers of a live cluster, as kafka://HOST:PORT,..."
    ),
    "--bootstrap-controller": Meaning(
        CONNECTION,
        "HOST:PORT,...",
        "The controllers of a live cluster, as controllers://HOST:PORT,...",
    ),
    "--command-config": Meaning(
        CONNECTION,
        "FILE",
        "The client properties for live clusters: security.protocol, sasl.mechanism, ...",
    ),
    "--right-command-config": Meaning(CONNECTION, "FILE", "The client properties for RIGHT."),
    # What computes.
    "--engine": Meaning(
        ENGINE, None, "local: in this process, without Java; spark: for any amount of data."
    ),
    "--master": Meaning(
        ENGINE,
        "URL",
        "The Spark master, which implies --engine spark: local[*], spark://host:7077, yarn,"
        " k8s://..., or sc://host:15002 for Spark Connect.",
    ),
    "--conf": Meaning(ENGINE, "NAME=VALUE", "A Spark property; overrides the default."),
    "--packages": Meaning(
        ENGINE,
        "COORDINATES",
        "Maven packages for Spark, such as org.apache.hadoop:hadoop-aws:3.4.2.",
    ),
    # What is written, and how.
    "--output": Meaning(OUTPUT, None, "The format."),
    "--out": Meaning(OUTPUT, "FILE", "Write to this file."),
    "--fix-file": Meaning(
        OUTPUT,
        "FILE",
        "Write the ACLs without the redundant ones to this file: .yaml, .json, .csv or .txt (as"
        " kafka-acls.sh --list).",
    ),
    "--changes": Meaning(
        OUTPUT,
        "FILE",
        "Write the changes to this file too: .json, a plan for doorkeeper acls apply --plan; .sh,"
        " commands of kafka-acls.sh.",
    ),
    "--ocsf": Meaning(
        OUTPUT,
        "FILE",
        "Write decisions and ACL changes to this file, as OCSF 1.5 events in JSON lines.",
    ),
    "--data": Meaning(OUTPUT, "FOLDER", "Write all tables as CSV and JSON lines to this folder."),
    "--title": Meaning(OUTPUT, "TEXT", "The title of the report."),
    "--limit": Meaning(OUTPUT, "NUMBER", "At most this many rows."),
    "--examples": Meaning(OUTPUT, "NUMBER", "The number of examples of each kind, newest first."),
    "--exit-status": Meaning(
        OUTPUT, None, "Exit with 3 if the request is denied, or not always allowed."
    ),
    "--quiet": Meaning(
        OUTPUT,
        None,
        "Do not report progress. By default, progress is reported on stderr if it is a terminal.",
    ),
}

PATTERN_TYPES: Final[Mapping[str, str]] = {
    "literal": "NAME is the full name",
    "prefixed": "all names that begin with NAME",
    "match": "all patterns that match NAME",
    "any": "the name of a pattern of any type",
}


def named_option(
    *declarations: str, text: str | None = None, **attributes: Any
) -> Callable[[Decorated], Decorated]:
    """Return the option that the first of the declarations names, with its text.

    ``text`` is that of a command for which the text of the table would not be true. ``attributes``
    are those of ``click.option`` and ``Option``, without the metavar.
    """
    name = next(
        declaration for declaration in declarations if declaration.startswith("--")
    ).partition("/")[0]
    meaning = VOCABULARY[name]
    shows_choices = isinstance(attributes.get("type"), click.Choice)
    return click.option(
        *declarations,
        cls=Option,
        heading=meaning.heading,
        meaning=text or meaning.text,
        metavar=None if shows_choices else meaning.metavar,
        **attributes,
    )


def with_options(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """Return a decorator that adds options to a command, in this order."""

    def add(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return add
