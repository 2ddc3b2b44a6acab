"""TLS of listeners: from the configuration to the SSL context of new connections.

``doorkeeper.base.tls`` reads the keys, key stores and trust stores.

cipher_suites   Java's names and OpenSSL's
context         builds an ``ssl.SSLContext`` from the settings
alerts          sends the alert of a failed handshake to the client
listener_tls    the present context of a listener; reloads changed files
https           the context of HTTPS, from PEM files
"""
