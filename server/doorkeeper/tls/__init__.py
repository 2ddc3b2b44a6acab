"""TLS of a listener: from keys of the configuration to what the next connection is encrypted with.

settings        the keys of one listener, and errors about them
sources         the files that the keys name; handing secrets to OpenSSL without a disk
pem             PEM: blocks, certificates, keys
stores          the server's key with its certificates; whom to trust
cipher_suites   Java's names and OpenSSL's
context         all of it as an ``ssl.SSLContext``
alerts          telling a client why its handshake failed
listener_tls    the context of the moment: files are read again when they change
"""
