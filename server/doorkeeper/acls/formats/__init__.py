"""Sets of ACLs as text, and decisions on them: files, and the output of other tools.

What reads a text raises ``FormatError``, with the line where the format has one.

records   YAML and JSON of our own (schemas/records/acl_set.json)
csv       the table of kafka-ui and Kafka Security Manager
listing   the text of ``kafka-acls.sh --list``, of present and old releases
commands  the options of kafka-acls.sh that add or remove a binding; written only
znodes    version 1 JSON, which old brokers kept in ZooKeeper
foreign   files of other tools: Strimzi, Terraform, rpk, ...; read only
block_yaml  YAML as people write it, and its fast reader
documents a text of YAML or JSON, parsed once, with the lines of its parts
yaml_documents  strict parsing of YAML
acl_set   the contents of a file: bindings, owned parts, and their lines
owned_parts  the parts of all ACLs that a file owns
roles     grants of roles, which expand to plain ACLs; built_in_roles has Kafka's usual programs
assertions  the rules of ``doorkeeper acls assert``
entities     topics, users and quotas beside ACLs
acceptances  findings of lint that a file accepts
choosing  detects the format of a text by its contents: the table of all formats
names     parses resource types, operations and so on, for all formats
values    readers of records, lists, texts and numbers of a document, with their errors
denials   the request that a pasted line or exception is about
authorizer_message  records of kafka-authorizer.log, of present and old releases
logged_principals   principals as authorizers print them
request_words       operations and resource types of requests, as all logs spell them
"""
