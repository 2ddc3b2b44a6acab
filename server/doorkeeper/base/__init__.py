"""What the client and the server share, and ACLs stand on: no network, no state.

errors              Kafka's error codes, and the error of a request
config_errors       the error of a configuration; key, entry, values: its keys, lines and parsers
properties          Java's .properties files
jaas                JAAS configurations, and the tokens of JAAS files
encodings           bytes that are not UTF-8
secret_files        files with passwords and tokens
credentials         SCRAM credentials
distinguished_name  the name of a certificate's subject, as Java prints it
tls                 keys, key stores and trust stores of TLS
uuids               Kafka's uuids
slices              long work in parts
garbage_collection  short collections of Python's garbage collector
standard_streams    the standard streams, which the parent of a process may have closed
version             the version of Doorkeeper
"""
