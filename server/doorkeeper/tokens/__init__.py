"""Delegation tokens: what one is, and the rules by which it is issued, renewed and expired."""
