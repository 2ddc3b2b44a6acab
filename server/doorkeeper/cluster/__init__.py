"""Values of a cluster: brokers, topics, groups, and Kafka's uuids."""
