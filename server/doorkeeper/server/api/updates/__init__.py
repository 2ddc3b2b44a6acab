"""Coroutines that submit a request's change to the state log and return its results."""
