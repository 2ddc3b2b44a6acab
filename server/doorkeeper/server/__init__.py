"""What ``doorkeeper serve`` runs; imports go down.

app         the composition root: build, start, reload, stop
operations  audit log, log lines, the HTTP port
net         listeners, TLS handshakes, channels; ``net.protocol``: frames and sessions
api         one module for each API; permissions, codes, registry
authorizer  the authorizer contract (KIP-504), its guard, StandardAuthorizer
state       the state of a node, its log and its stores; ``state.history``: its past
resources   topics, groups, users, quotas, tokens, settings, policies
security    SASL mechanisms, principals, TLS of listeners
config      server.properties and the keys ``doorkeeper.*``
schema      the kinds of state: columns and rows
runtime     what all of them use: limits, logger, metrics, the context of a request, threads
"""
