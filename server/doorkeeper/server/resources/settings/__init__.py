"""Configurations of brokers, topics and groups for DescribeConfigs and AlterConfigs."""
