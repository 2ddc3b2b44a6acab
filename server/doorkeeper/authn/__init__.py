"""How a client proves who it is: one module for each SASL mechanism, one contract for all.

contract     what a mechanism is, what its steps give, what a principal is made from
provider     a mechanism of a listener: what it is made from, what it may ask
mechanisms   which module speaks which mechanism
plain        PLAIN: a name and a password
scram        SCRAM-SHA-256 and SCRAM-SHA-512; scram_messages: what they say
gssapi       GSSAPI: Kerberos tickets; kerberos_setup: what it needs of the machine
kerberos_rules  users' names from Kerberos names
credentials  what the server keeps of users and tokens
principals   who a connection speaks for

distinguished_name   the name of a certificate, as Java prints it
ssl_rules            ssl.principal.mapping.rules
java_regex           Java's regular expressions; _parsing and _classes translate them
"""
