"""TLS as in Kafka's configuration: keys, key stores and trust stores.

keys      the configuration keys
settings  the keys of one listener or client, and errors about them
sources   where certificates and keys come from
stores    JKS, PKCS12 and PEM stores
pem       reading of PEM files
"""
