"""The sockets: everything between the operating system and the connections.

spec        a listener as the configuration describes it; what the server asks of its node
addresses   binding, and addresses as Java writes them
admission   how many connections there may be
listener    accepting
handshakes  TLS handshakes under way; handshake_log tells of those that fail
shell       one connection's socket
transports  what a transport says of its peer
updates     waiting for what an authorizer returns
ledger      bytes held over all connections
server      all of it: bind, open, drain
loops       uvloop, or asyncio where there is none
"""

from doorkeeper.net.addresses import BindError
from doorkeeper.net.loops import LOOPS, new_runner
from doorkeeper.net.server import Server
from doorkeeper.net.spec import ListenerSpec, Logger, Services

__all__ = ["LOOPS", "BindError", "ListenerSpec", "Logger", "Server", "Services", "new_runner"]
