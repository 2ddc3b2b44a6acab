"""OAUTHBEARER (RFC 7628): authentication with a token of an identity provider.

mechanism    the exchange: the client's first message, its refusal in two steps
json_text    strict and lenient JSON parsing for untrusted texts
unsecured    unsigned tokens, for development
signed       signed tokens and their claims
subjects     the principal's name in the claims of both
jwks         the keys that verify signatures, from a file
jwks_url     ... from an identity provider, and the certificates that are trusted for that
provider     selects these for a listener, from its configuration
"""
