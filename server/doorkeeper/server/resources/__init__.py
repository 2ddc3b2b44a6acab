"""What a broker has besides ACLs: one place for each, with its model, its rules and its plans.

topics    names, the table of all topics, creation and alteration
groups    committed offsets of groups
users     SCRAM credentials
quotas    client quotas
tokens    delegation tokens: the model, and the rules of issue, renewal and expiry
settings  configurations of brokers, topics and groups
policies  policies of users (KIP-108, KIP-133)
cluster   values: brokers, topics, groups; consumer_protocol: the bytes of group members
"""
