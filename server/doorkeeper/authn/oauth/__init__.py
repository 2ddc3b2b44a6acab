"""OAUTHBEARER (RFC 7628): a client shows a token, and what says who it is stands in the token.

message      the client's first message
mechanism    the exchange, with its refusal in two steps
json_text    JSON that others wrote
unsecured    tokens that nobody has signed: for development
signed       tokens with a signature, and their claims
jwks         the keys that signatures are checked with
jwks_file    ... kept in a file
jwks_url     ... fetched from an identity provider; https_trust says which one
provider     which of these a listener uses, from its configuration
"""
