"""Clusters: the ACLs of real Kafka clusters, kept equal to those of this server.

config           the file of clusters: addresses, modes, scopes, limits
remote           one cluster through its admin API, each broker by itself; what its ACLs lack
following        the task that follows a metadata log
drift            the difference between a cluster and the desired ACLs, and its age
enforcement      the changes that remove a drift, within the limits; repeated reverts
receipts         the revision that all brokers of a cluster enforce, and waiting for one
states           the synchronization of one cluster as a table: roles, states, events; its pauses
synchronization  the task of one cluster, which takes the actions of the states
fleet            all clusters of a server: order, status; changes that brokers acknowledge

A server imports ``config`` and ``fleet`` where ``doorkeeper.clusters.file`` names a file.
"""
