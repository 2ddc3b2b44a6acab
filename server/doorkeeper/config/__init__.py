"""The configuration: Kafka's ``server.properties`` and additional keys ``doorkeeper.*``.

loading      a file and overrides -> ``Settings``, warnings, or all errors at once
properties   parser of a file into entries with their lines
entry        an entry, and a problem with one
keys         the table of keys that have an effect
kafka_keys   the names of all other keys of a Kafka broker
kafka_dynamic_keys   those that are dynamic in Kafka
naming       lookup of a key by name; suggestions for unknown names
values       typed values of texts
raw_config   typed entries by key path
listeners    listeners, addresses and protocols
jaas         ``sasl.jaas.config``
dynamic_values  values that change while the server runs
origins      values in effect and their sources
settings     the values as the server uses them
"""
