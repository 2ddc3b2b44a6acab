"""Run time: threads, slices of long work, the garbage collector, the service manager."""
