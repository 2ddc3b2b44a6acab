"""The test broker: a data path in memory for a Doorkeeper server.

It adds the APIs of producers, consumers and their groups to the table of one server, and real
offsets to those that a server has already. Records are kept in memory, up to a bound, and are lost
when the server stops. The server does not import this package; it opens it by its name where
``doorkeeper.test.broker`` is true.

batches       record batches as bytes; contents: the records in them
log           the log of a partition
producers     sequence numbers and transactions of the producers of a log
records       the logs of all partitions, and their memory
produce       the handler that appends records
fetch         the handler that reads them
classic_group the state machine of a group of the classic protocol
classic_apis  the handlers of its members, whose answers come at once or later
consumer_group the state machine of a group of the newer protocol; assignors: its targets;
               consumer_member: one of its members
consumer_apis the handler of its members; consumer_protocol: what they tell each other, as bytes
classic_members members of the classic protocol in such a group; group_migration: groups that change
share_group   the state machine of a share group; share_apis: the handler of its members
share_partition the state of the records of a partition; share_fetch: the handlers of records
share_sessions which partitions a member reads
share_offsets where share groups read, and the handlers of it
group_settings the settings of groups; waits: the wait for records
coordinator   the live groups, their time-outs, and their publication
transactions  the state machine of transactions; transaction_apis: its handlers
data_path     all of it, as the server opens it
"""

from doorkeeper_broker.data_path import API_KEYS, open_data_path

__all__ = ["API_KEYS", "open_data_path"]
