"""What the jobs run on: ``local`` (Polars, no JVM) and ``spark`` (a laptop or a cluster).

contract  what a job may ask of an engine; every job is written against it and runs on both
tuples    distinct decisions: what the evaluator works on
local     one process, Polars
spark     PySpark: each task is a partition; what all tasks share is broadcast
session   the one SparkSession
"""
