"""``doorkeeper whoami``: which principal a broker sees.

command      the command
credentials  certificates, tokens and names on the command line; those of a client's properties
live         what a running cluster tells about a login
name_derivation  the principal of a credential, rule by rule, without a connection
answers      an answer as lines and as JSON
"""
