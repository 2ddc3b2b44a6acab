"""Authentication of clients: the SASL mechanisms, callback handlers and principals.

What reads the configuration raises ``ValueError``: the text begins with the key that is wrong.

contract     the contract of a mechanism: steps, their results, the authentication context
provider     a mechanism as configured on one listener; the module of each
plain        PLAIN: a name and a password, against JAAS options, a users file or a handler
scram        SCRAM-SHA-256 and SCRAM-SHA-512, with users of the store or of a handler
gssapi       GSSAPI: Kerberos tickets; kerberos_setup: configuration, realm, keytab
oauth        OAUTHBEARER: tokens of an identity provider
kerberos_rules  user names from Kerberos names
principals   the principal of an authenticated connection
tls          TLS of listeners, from the configuration to the context of new connections

ssl_rules            ssl.principal.mapping.rules
java_regex           Java's regular expressions; java_regex_parsing and java_regex_classes
                     translate them

plug-ins:
handlers_contract    base classes of callback handlers
guarded_handler      creates the configured handler, and bounds its calls
users_file           users of PLAIN, as password_records
"""
