"""ACL repositories: one interface for ACLs in a file, a store or a live cluster.

addresses    the grammar of addresses: ``acls.yaml``, ``kafka://host:9092``, ``config:FILE``
repository   the interface
files        ACLs in files and folders, read only
file_ownership  what files may own and have beside each other
clusters     ACLs of a live cluster
stores       ACLs in the store of a server, and in backups
sessions     what is open for changes
errors       the exception
"""
