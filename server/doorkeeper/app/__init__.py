"""The composition root: one process with its state log, authorizer, node, listeners and signals.

process            life of the process: logs, event loop, garbage collector, exit status
assembly           construction of a server from settings, and its orderly shutdown
authorizer         construction, start and bounded close of the authorizer
policies           construction of the policies of topics and configurations
audit_log          construction of the audit log; the authorizer's decisions go to it
listeners          limits, mechanisms, TLS and principal builders of the listeners
operations_port    start and stop of the HTTP pages, and the gauges of a scrape
node               the node as handlers see it
services           what connections may change
catalogs           the declared topics and groups
clusters           the Kafka clusters that get the ACLs
config_changes     dynamic configuration, also of other nodes
reconfiguration    use of a new configuration in a running server
reload             reload on SIGHUP
decision_settings  the settings of decisions, for the history
config_check       check of a configuration without a start
stores             opening of the configured store
history            reading of its history, for the operations port and the log
hash_records       the newest hash of the history, in the log
data_path          the records of a test broker
errors             reasons for a refused start
"""
