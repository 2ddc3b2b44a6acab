"""Metrics: declared in one table, counted in plain numbers, read at each scrape.

table      every metric: its name, labels, and Kafka's name
series     counters, histograms, readers of existing values, and their collector
meters     those of requests and updates, of the store, the audit log and reloads

Publishing them is the task of ``operations.http``.

To add a metric, declare it in ``table``. A part takes ``Meters`` (or a class of ``meters``) as an
argument and binds the series that it writes once, in its constructor:

    self._commits = meters.counter(table.STORE_COMMITS, "stored")
    ...
    self._commits.add()

For a number that exists anyway, register a reader, which is called in the loop's thread at each
scrape: ``meters.read(table.ACLS, authorizer.acl_count)``. The site's page of metrics
follows. Labels are never principals, clients, addresses or resources: clients choose those, and
each value would be a series for ever. Without ``Meters`` a part creates its own, which are not
published.

A series belongs to the thread that writes it; two threads that count the same thing bind two
series, by a label, or one of them counts for both.
"""
