"""What all rooms of the server use.

bounded_queue    items for a thread of their own
clock            the time of the system's clock
fair_queues      what waits, with a turn for each client address
lean_structlog   structlog, without what it imports in vain
logger           the interface of the log
metrics          metrics: one table, counted in plain numbers
reloaded_files   values of files that are read again when they change
request_context  the client of a request and its connection
threads          calls between threads and the event loop
"""
