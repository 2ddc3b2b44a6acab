"""The operations port: liveness, readiness, metrics, history.

port         accepting connections, each for one request in bounded time, with aiohttp behind it
answers      aiohttp's answers, without what they would tell of the server
pages        the pages, the access to them, and the checks of readiness
history_pages  the changes of the store, in pages and as a stream
credentials  bearer tokens and passwords, from files
heartbeat    the lag of the event loop
exposition   metrics for Prometheus; the only module that imports its library

The port shares the event loop with Kafka's clients and nothing else, so its faults cannot affect
them. It is imported only if ``doorkeeper.http.listener`` is configured.
"""
