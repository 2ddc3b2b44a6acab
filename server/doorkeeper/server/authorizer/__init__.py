"""The authorizer contract (KIP-504), and what stands between it and handlers.

contract          the contract; plug-ins import it from ``doorkeeper.plugins``
older             the older interface (KIP-11)
awaitables        what completes later
loading           creates the configured class
guard             bounds and checks the calls; result_checks: what may be returned
one_request       what one request asks
standard          StandardAuthorizer, the plans of its changes; standard_keys: its keys
authorizer_log    Kafka's authorizer log: its sink, its levels, the lines of each generation
"""
