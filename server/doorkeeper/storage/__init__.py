"""Where the state of a node lives: ACLs, topics, the cluster id and the log of changes."""
