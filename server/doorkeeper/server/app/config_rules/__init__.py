"""What is wrong with a configuration: of brokers and controllers of Kafka, and of Doorkeeper.

Pure: texts and bytes in, findings out. ``doorkeeper config check`` and the start of the server use
the same rules; docs/reference/config-rules.md is made from their declarations.

checking         ``check``: the files of a cluster -> findings, of a rule and a file
rule             what a rule is; the table of all rules
examples         the base to which the examples of rules are added
node             one node's configuration as Kafka reads it
keys             which keys concern security

the rules, by their codes:
reading          C1: what the reader of a properties file makes of its lines
listeners        C2: listeners, protocols, prefixes
sasl             C3: mechanisms, login modules, delegation tokens
tls              C4: TLS
authorization    C5: the authorizer, super users, the nodes' own principals
principals       C6: rules that map names to principals
cluster          C7: several files of one cluster
containers       C8: the environment of container images as properties
own              C9: Doorkeeper's own
"""
