"""Python's run time: threads, slices of long work on the event loop, the garbage collector."""
