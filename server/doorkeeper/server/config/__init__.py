"""The configuration: Kafka's ``server.properties`` and additional keys ``doorkeeper.*``.

``doorkeeper.base`` has the parsers: properties, entries, values, keys, JAAS.

loading          a file and overrides -> ``Settings``, warnings, or all errors at once
document         YAML nodes with their lines, of the files that keys name
raw_config       typed entries by key path
settings         the values as the server uses them
dynamic_values   values that change while the server runs
origins          values in effect and their sources

the table of keys:
keys             all keys that have an effect; those of groups are in audit_keys, cluster_keys,
                 http_keys, sasl_keys, store_keys, test_broker_keys and token_keys
kafka_keys       the names of all other keys of a Kafka broker
kafka_dynamic_keys   those that are dynamic in Kafka
naming           lookup of a key by name; suggestions for unknown names

from entries to values:
listeners        listeners, addresses and protocols; prefixed: values with a listener's prefix
sasl             the mechanisms of a listener; mechanisms: the settings of one
jaas_file        a JAAS file
tokens           the secret of delegation tokens
shared_store     the address of a shared store
audit            the audit log
http             the operations port
client_rules     rules for clients by their software
levels           the levels of loggers
plug_ins         import of the Python class that a key names
"""
