"""The APIs, one module each: pure functions of a request, its context and the node.

A handler returns a response, or an ``Update`` that the connection awaits. See ``doorkeeper.api``.
"""
