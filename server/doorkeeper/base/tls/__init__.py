"""TLS as in Kafka's configuration: keys, key stores and trust stores.

A setting that cannot be used is a ``TlsError``, a text that is no such PEM a ``PemError``.

keys      the configuration keys
settings  the keys of one listener or client, and errors about them
sources   where certificates and keys come from
stores    JKS, PKCS12 and PEM stores
pem       reading of PEM files
"""
