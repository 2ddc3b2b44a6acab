"""Topics: their names, the table of all topics, and the plans that create and alter them."""
