"""Generated clusters, from a seed: principals, their ACLs, their requests, and the logs.

For benchmarks, tests and comparisons of tools; it is not installed: ``PYTHONPATH=tools:tests``.

shape      how large, how skewed, how odd
names      principals, topics, groups, transactional ids, hosts
grants     sets of ACLs, and a proposal for another one
traffic    the distinct questions, their answers by the engine, and when each was asked
lines      an answer as a line of kafka-authorizer.log, of each era
tables     the silver table of decisions, without the way through files
writing    the files: logs, sets of ACLs
trail      the files of a Doorkeeper's audit log

Clusters whose grants have labels, to judge what a tool proposes to remove:

quarter     the measures of a cluster and of the collection of its logs, drawn from a seed
labelled    grants with labels, and requests, also those of the quarter to come
making      services, their names, sessions and times
uses        the ways in which grants are used, or not
collecting  the files: logs of brokers, dated listings, the truth
deciding    decisions by the naive reference of the tests
scoring     how well a proposal fits: precision, recall, access that is lost or opened
"""
