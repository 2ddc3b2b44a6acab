"""Policies of users (KIP-108, KIP-133).

contract  the classes that users implement
guard     bounds their calls
"""
