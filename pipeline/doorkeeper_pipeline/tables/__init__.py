"""Tables as Parquet files in an output folder, and how they change without ever being half new.

places    where each table is in an output folder
rules     contracts as data: conditions of each row, and the severity of a violation
contents  reading and checking frames against schema and rules
staging   writes beside the tables, then one commit that a crash cannot leave half done
source_file  an input file
manifest  which input files were read: the memory of incremental runs
"""
