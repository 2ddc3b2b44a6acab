"""Sets of ACLs as text: what people keep in files, and what other tools write.

records   YAML and JSON of our own (schemas/records/acl_set.json)
csv       the table that kafka-ui and Kafka Security Manager write and read
listing   the text of ``kafka-acls.sh --list``, of today and of old releases
commands  the options of kafka-acls.sh that add or remove a binding; written only
znodes    version 1 JSON, which old brokers kept in ZooKeeper
documents JSON, strictly
choosing  which of them a text is, by its name or by its first words
names     resource types, operations and so on, as all of them write them
"""
