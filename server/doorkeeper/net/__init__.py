"""The sockets: everything between the operating system and the connections.

options            a listener as the configuration describes it
addresses          binding, and addresses as Java writes them
admission          how many connections there may be
listener           accepting
handshakes         TLS handshakes in progress; handshake_log logs those that fail
context            what connections share: the parts that they use, updates in flight
channel            one connection's socket
connection_log     the log lines of one connection; request_log those of its requests
peer_log           lines about the input of peers, cut and limited in number
chunked_responses  responses that are built a slice at a time
fair_queue         the work of connections that have not authenticated
transports         whether a transport is encrypted, and the peer's certificates
ledger             bytes held over all connections
server             all of it: bind, open, drain
loops              uvloop, or asyncio where there is none
"""

from doorkeeper.logger import Logger
from doorkeeper.net.addresses import BindError
from doorkeeper.net.loops import LOOPS, new_runner
from doorkeeper.net.options import ListenerSpec
from doorkeeper.net.server import Server

__all__ = ["LOOPS", "BindError", "ListenerSpec", "Logger", "Server", "new_runner"]
