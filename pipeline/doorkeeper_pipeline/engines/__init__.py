"""The engines of the jobs: ``local`` (Polars, no JVM) and ``spark`` (a laptop or a cluster).

contract  an engine, which runs everything in one process; every job runs on both
spark     PySpark: each task is a partition; shared values go with the function
session   the one SparkSession
"""
