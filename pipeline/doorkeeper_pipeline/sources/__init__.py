"""The inputs: logs of decisions, and sets of ACLs.

files             the input files, and the identity of each
recognising       the source of a file
envelopes         what collectors and commands put around lines and records
layouts           layouts of log4j, log4j2 and JSON
times             times of logs in any form
records           records of a log in another layout than Kafka's
reading           bytes of a file, compressed or not, in pieces
parsed            the result of a source: decisions, quarantine, counts
possible_principals
                  principals that lines which are not certain may be about
authorizer_log    the log, columnar
json_lines        files with one JSON object a line
trail             Doorkeeper's own audit log
ocsf              Redpanda's audit log
cloudevents       Confluent's audit log
acl_places        where sets of ACLs are, their dates, and whether they changed
acl_sets          sets of ACLs, in every format of doorkeeper.acls.formats
audit_changes     changes of ACLs in Doorkeeper's audit log
change_log        the change log of a Doorkeeper store
"""
