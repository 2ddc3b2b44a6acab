"""One module for each version of the schema; revision ``0001`` is schema version 1."""
