"""Tables in an output folder, and how they change without ever being half new.

places    where each table is in an output folder
contents  frames and files: checked against schema and rules, read and written
delta     the tables in the format Delta: versions, and changes that happen whole or not at all
locking   one process at a time changes a folder
manifest  which input files were read: the memory of incremental runs
"""
