"""Topics of Kafka as inputs, with the values of their records as lines of a log."""
