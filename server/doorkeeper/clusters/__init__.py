"""Clusters: the ACLs of real Kafka clusters, kept equal to those of this server.

config   the file of clusters: addresses, modes, scopes, limits

The package is imported only where ``doorkeeper.clusters.file`` names a file.
"""
