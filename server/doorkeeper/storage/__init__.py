"""Where the state of a node lives: ACLs, topics, users, the cluster id and the log of changes."""
