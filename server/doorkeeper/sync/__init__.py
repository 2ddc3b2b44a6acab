"""Clusters: the ACLs of real Kafka clusters, kept equal to those of this server.

A server imports ``config`` and ``fleet`` where ``doorkeeper.clusters.file`` names a file.
"""
