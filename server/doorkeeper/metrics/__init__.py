"""What the server counts: declared in one table, counted in plain numbers, read when scraped.

table      every metric: our name, its labels, Kafka's name beside it
series     the numbers: counters, histograms, and readers of what is known anyway
requests   the requests, and the updates that wait
hooks      what a store and the audit trail tell

Nothing here knows how metrics are published: ``doorkeeper.http`` does, where it is turned on.

A part adds a metric in three steps. It declares it in ``table``. It takes ``Meters`` (or a class of
``hooks``) as an argument and binds the series that it writes once, when it is made:

    self._commits = meters.counter(table.STORE_COMMITS, "stored")
    ...
    self._commits.add()

or, where it knows the number anyway, gives a reader, which is called on the loop's thread at each
scrape: ``meters.read(table.ACLS, authorizer.acl_count)``. It writes ``docs/metrics.md`` anew with
``PYTHONPATH=tests python -m testkit.metrics_page``. Labels are never principals, clients, addresses
or resources: clients choose those, and each value would be a series for ever. A part that nobody
gave ``Meters`` makes its own, which nobody reads.

A series belongs to the thread that writes it; two threads that count the same thing bind two
series, by a label, or one of them counts for both.
"""
