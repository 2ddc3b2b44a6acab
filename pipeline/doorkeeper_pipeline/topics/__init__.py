"""Topics of Kafka as inputs, with the values of their records as lines of a log.

addresses    kafka://host:port/topic, and ranges of offsets, which are remembered as files are
consumer     partitions, offsets and records, by the client of this project
batches      record batches to records, and what producers compress them with
lines        records as lines of a temporary file, and the way back to their offsets
"""
