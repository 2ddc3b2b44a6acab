"""The catalog: topics and groups that a YAML file declares; see ``docs/how-to/catalog.md``.

errors             the faults of a file
document           YAML nodes with their lines
topics             the topics of a document
groups             the groups of a document
consumer_protocol  the bytes of group members
loading            load a ``Catalog`` from a path
lines              a ``Catalog`` as lines of JSON
apart              the process that reads a large file

These modules are imported only if a catalog is configured.
"""
