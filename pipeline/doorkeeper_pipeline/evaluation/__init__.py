"""Evaluation of recorded decisions with a set of ACLs: frames in and out, no Spark.

names      resource names as numbers, so that patterns become intervals
index      a set of ACLs, compiled once and sent to every worker
questions  distinct questions, encoded for an index
deciding   the decision of each question, with the rule and the bindings behind it
decision_table
           distinct decisions, with the answers of sets of ACLs, each computed once
acl_sets   the bindings in force, with numbers and ids
usage      which bindings were used, and which of them decided
unused     bindings without which every decision would be the same
overbroad  bindings that allow far more than was used, and narrower ones
generated  grants whose used names are generated, so that no literals can stand for them
refusals   the causes of refusals, and the advice for each
needs      the accesses that each principal had
numbering  numbers of events, of which missing ones are events that nobody read
unread     lines that could not be read for certain, and may be uses
severity   how much a grant opens: CRITICAL to LOW
verdicts   what a history says about one grant: keep, ask or remove, and why
examples   distinct decisions as examples of what a history has about some grants
collection whether a log has all lines, or a collector dropped some
evidence   whether a history is enough for recommendations, and its contradictions
literals   ids, texts and commands of many bindings, and the literal grants for many needs
"""
