"""What goes in: logs and trails that say what was decided, and sets of ACLs.

files             which files there are, and what identifies one
recognising       what a file is
reading           bytes of a file, compressed or not, in pieces
slices            ranges of a large file for tasks, cut where a record ends
parsed            what a source gives: decisions, what is quarantined, what was counted
authorizer_message  one message of kafka-authorizer.log, eras A to E
authorizer_log    the log, columnar
json_lines        files with one JSON object a line
trail             Doorkeeper's own audit log
ocsf              Redpanda's audit log
cloudevents       Confluent's audit log
words             names of operations and resource types in one form
acl_sets          sets of ACLs, in every format of doorkeeper.acl.formats
change_log        the change log of a Doorkeeper store
"""
