"""TLS of listeners: from the configuration to the SSL context of new connections.

settings        the TLS keys of one listener, and errors about them
sources         reads the files that the keys name; passes secrets to OpenSSL in memory
pem             PEM: blocks, certificates, keys
stores          key stores and trust stores
cipher_suites   Java's names and OpenSSL's
context         builds an ``ssl.SSLContext`` from the settings
alerts          sends the alert of a failed handshake to the client
listener_tls    the present context of a listener; reloads changed files
"""
