"""The engines of the jobs: ``local`` (Polars, no JVM) and ``spark`` (a laptop or a cluster).

contract  the operations of an engine; every job is written against it and runs on both
local     one process, Polars
remote    files at addresses that Spark can read
spark     PySpark: each task is a partition; shared values go with the function
session   the one SparkSession
workers   the processes in which Spark runs Python
"""
