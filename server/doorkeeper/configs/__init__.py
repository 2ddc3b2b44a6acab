"""Configurations of brokers, topics and groups as DescribeConfigs and AlterConfigs see them."""
