"""Copies what a topic has to another one, and ends: a stream of Spark with a checkpoint.

The argument is JSON: jars, checkpoint, and the options of the source and of the sink.
"""

import json
import sys

from pyspark.sql import SparkSession

settings = json.loads(sys.argv[1])
builder = SparkSession.builder.master("local[1]").config("spark.jars", settings["jars"])
session = builder.config("spark.ui.enabled", "false").getOrCreate()
source = session.readStream.format("kafka").options(**settings["source"]).load()
sink = source.selectExpr("value").writeStream.format("kafka").options(**settings["sink"])
stream = sink.option("checkpointLocation", settings["checkpoint"]).trigger(availableNow=True)
stream.start().awaitTermination()
