"""The operations port: is the server alive, is it ready, what does it count.

port         accepting, and aiohttp behind it; the only one that knows aiohttp
connection   one connection: one request, in bounded time
pages        what is asked for, and by whom
login        who may ask
watched      files that are read anew when they change
checks       what readiness looks at
heartbeat    how late the event loop is
exposition   the numbers as Prometheus reads them; the only one that knows its library

It shares the event loop with Kafka's clients and nothing else: what goes wrong here stays here. It
is imported where ``doorkeeper.http.listener`` turns it on.
"""
