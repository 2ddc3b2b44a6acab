"""Topics: their names, the table of all topics, and what creates and alters one."""
