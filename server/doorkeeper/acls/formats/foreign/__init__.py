"""Files of other tools that hold ACLs, read only: each has a shape, and is read or refused by name.

rows       collects the bindings of a file, and says where it is wrong
manifests  resources with ``apiVersion`` and ``kind``: streams, lists, kinds
strimzi    ``KafkaUser`` of Strimzi
jikkou     ``KafkaPrincipalAuthorization`` and roles of Jikkou
terraform  the state of Terraform: the kafka and confluent providers
json_rows  JSON of ``rpk security acl list`` and ``confluent kafka acl list``; the state of Julie
rpk_table  the text of ``rpk security acl list``
refused    what is known and not read, with the command that converts it
"""
