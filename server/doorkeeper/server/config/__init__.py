"""The configuration: Kafka's ``server.properties`` and additional keys ``doorkeeper.*``.

``doorkeeper.base`` has the parsers: properties, entries, values, keys, JAAS. Loading raises
``ConfigError`` with every problem.

loading          a file and overrides -> ``Settings``, warnings, or all errors at once
raw_config       the values of entries by key, and problems
settings         the values as the server uses them
environment      variables of Kafka's images, which have no effect

the rows of keys (``doorkeeper.base.key`` says what a row is):
keys             all keys that have an effect; those of groups are in audit_keys, http_keys,
                 sasl_keys, store_keys and test_broker_keys, and in ``doorkeeper.base.tls.keys``
kafka_keys       all other keys of a Kafka broker, from ``kafka_keys.json``
kafka_versions   the versions of APIs that releases of Kafka list, from ``kafka_versions.json``,
                 and the key by which a server lists the same
naming           lookup of a key by name; suggestions for unknown names

from entries to values:
listeners        listeners, addresses and protocols
sasl             the mechanisms of a listener, and the settings of one
jaas_file        a JAAS file
shared_store     the address of a shared store
http             the operations port
levels           the levels of loggers
plug_ins         loads the classes that keys name, and bounds their calls
"""
