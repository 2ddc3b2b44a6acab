"""Construction of each part of a server from its settings; `doorkeeper.app` assembles them.

audit_log          the audit log; the authorizer's decisions go to it
authorizer         construction, start and bounded close of the authorizer
catalogs           the declared topics and groups
clusters           the Kafka clusters that get the ACLs
decision_settings  the settings of decisions, for the history
hash_records       the newest hash of the history, in the log
history            reading of the store's history, for the operations port and the log
listeners          limits, mechanisms, TLS and principal builders of the listeners
policies           the policies of topics and configurations
stores             opening of the configured store
errors             reasons for a refused start
"""
