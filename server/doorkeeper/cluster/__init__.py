"""The values that make up a cluster: brokers, topics, groups, and Kafka's uuids."""
