"""Policies of users (KIP-108, KIP-133).

contract  the classes that users implement
loading   creates the configured classes
guard     bounds their calls
"""
