"""The APIs, one module each: pure functions of a request, its context and the node.

A handler returns a response, or an ``Update`` that the connection awaits. Its module ends with
``API``, made by ``declaration``; ``registry`` has the table of all of them. ``node`` has the types
of arguments and results, ``permissions`` the checks, ``operations`` the generated table of what
each API needs. ``codes`` takes ACLs from messages and into them; ``acl_rows``,
``acl_chunks`` and ``acl_row_encoder`` build DescribeAcls responses of many ACLs.
"""
