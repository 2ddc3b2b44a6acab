"""The catalog: topics and groups that a YAML file declares. ``docs/catalog.md`` is its reference.

errors             what is wrong with a file, every fault of it
document           from YAML to mappings, lists and texts that know their lines
topics             the topics of a document
groups             the groups of a document
consumer_protocol  the bytes that members of a group exchange
loading            from a path to a ``Catalog``
lines              a ``Catalog`` as lines of JSON
apart              the process that reads a large file, and tells it so

Nothing here is imported unless a catalog is configured.
"""
