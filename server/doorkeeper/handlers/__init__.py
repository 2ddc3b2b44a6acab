"""The APIs, one module each: a pure function of (request, context, node).

Each module opens with its versions, its behaviour, the permission it needs and what each version
added, and ends with its ``API``. Handlers do not know each other.
"""
