"""How a client proves who it is: one module for each SASL mechanism, one contract for all.

contract     what a mechanism is, and what its steps give
plain        PLAIN: a name and a password
mechanisms   the mechanisms that a listener offers, from its configuration
"""
