"""The APIs, one module each: pure functions of a request, its context and the node.

A handler returns a response, or an ``Update`` that the connection awaits.

registry     the table of all APIs
declaration  what each of these modules declares
node         the arguments and results of handlers
permissions  the checks of permissions; operations: the table of what each API needs, generated
codes        ACLs from messages and into them
acl_rows     DescribeAcls responses of many ACLs; acl_chunks and acl_row_encoder build them
records      what a data path answers about records
updates      coroutines that submit a request's change to the state log
"""
