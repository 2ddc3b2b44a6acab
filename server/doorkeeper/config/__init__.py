"""The configuration: Kafka's ``server.properties`` and a few keys of our own.

loading      a file and overrides -> ``Settings``, warnings, or every error at once
properties   bytes of a file -> entries with their lines
entry        an entry, and a problem with one
keys         the table of keys that have an effect
kafka_keys   the names of all other keys of a Kafka broker
kafka_dynamic_keys   which of them may change while a broker runs
naming       which key a name means; the known key that an unknown one resembles
values       texts -> typed values
listeners    the rules between listeners, addresses and protocols
jaas         ``sasl.jaas.config``
dynamic_values  values that are given while the server runs
origins      what counts and where it comes from
settings     the values as the server reads them
"""
