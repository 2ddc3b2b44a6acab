"""Listeners, sockets and channels: the layer between the operating system and connections.

options            the configuration of a listener
addresses          binding, and addresses as Java writes them
limits             the limits of what peers and users can make it do
admission          limits on the number of connections
listener           accepting
http_listener      accepting for HTTP, whose peers need no login to connect
handshakes         TLS handshakes in progress, and the log lines of failures
peer_log           values that peers sent, cut and rate limited for the log
context            the parts that connections share, and the bytes held for all of them
channel            one connection's socket
updates            changes that go on without their clients
connection_log     the log lines of one connection; request_log those of its requests
large_requests     requests with many elements, worked on in a thread
fair_queue         the work of unauthenticated connections
transports         encryption and peer certificates of a transport
server             all of it: bind, open, drain
protocol           a connection without its socket: frames, session, responses
loops              uvloop where it is installed, else asyncio
"""

from doorkeeper.server.net.addresses import BindError
from doorkeeper.server.net.loops import new_runner
from doorkeeper.server.net.options import ListenerSpec
from doorkeeper.server.net.server import Server

__all__ = ["BindError", "ListenerSpec", "Server", "new_runner"]
