"""What a set of ACLs says of what was recorded: Arrow tables in, Arrow tables out, no Spark.

names      resource names as numbers, so that patterns become intervals
index      a set of ACLs, compiled once and sent to every worker
questions  distinct questions, encoded for an index
deciding   the decision of each question, with the rule and the binding behind it
usage      which bindings were used, and which of them anything hung on
backtest   the decisions that another set of ACLs would turn
"""
