"""Delegation tokens: the model, and the rules of issue, renewal and expiry."""
