"""Doorkeeper: a server that speaks the Kafka protocol for access control lists."""
