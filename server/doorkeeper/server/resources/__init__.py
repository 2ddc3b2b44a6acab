"""What a broker has besides ACLs: a module or folder for each, named for it.

Each has the model, the rules, the table of what is stored, and the plans that change it.
``policies``, which calls those of users (KIP-108, KIP-133), has no state. ``cluster`` has the
values that several share: brokers, topics, groups.

A plan refuses by an ``ApiError`` with the controller's code and text; an invalid setting is an
``InvalidConfig``.
"""
