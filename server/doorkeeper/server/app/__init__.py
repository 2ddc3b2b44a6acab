"""The composition root: one process with its state log, authorizer, node, listeners and signals.

process          life of the process: logs, event loop, garbage collector, exit status
assembly         construction of a server from its parts, and its orderly shutdown
node             the node as handlers see it, and what connections may change
single_user      the server for one command on a stopped store
operations_port  start and stop of the HTTP pages, and the gauges of a scrape
data_path        the records of a test broker
delegation_tokens  the tokens of the current secret: reads, changes, expiry
config_changes   dynamic configuration, also of other nodes
reconfiguration  use of a new configuration in a running server
reload           reload on SIGHUP
config_check     check of a configuration without a start
config_rules     what is wrong with a configuration, of real brokers and our own
rule_texts       what people read of those rules
service_manager  readiness for systemd

the parts of a server, each from its settings:
stores             opening of the configured store
authorizer         construction, start and bounded close of the authorizer
listeners          limits, mechanisms, TLS and principal builders of the listeners
policies           the policies of topics and configurations
clusters           the Kafka clusters that get the ACLs
audit_log          the audit log; the authorizer's decisions go to it
history            reading of the store's history, for the operations port and the log
decision_settings  the settings of decisions, for the history
errors             reasons for a refused start
"""
