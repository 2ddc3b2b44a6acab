"""The authorizer contract (KIP-504) and the authorizers that are shipped."""
