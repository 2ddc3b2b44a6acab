"""The stream: decisions are kept up to date while the audit log is being written.

batches  files of the trail as batches: staged, then one rename; written again they change nothing
summary  the sum of all batches
views    denied and new_access, made anew from it
following
         the loop without a JVM: the batches are the record of the files that were read
structured
         Spark's Structured Streaming over the names of files, with a checkpoint
topics   the stream of a topic, with either engine

    stream/batches/batch=00000042/decisions/part-<file>.parquet
    stream/batches/batch=00000042/quarantine/part-<file>.parquet
    stream/batches/batch=00000042/files.json, or offsets.json of a topic
    stream/summary/through-00000042.parquet
    stream/denied/denied.parquet       stream/new_access/new_access.parquet
    stream/checkpoint/                 Spark's
"""
