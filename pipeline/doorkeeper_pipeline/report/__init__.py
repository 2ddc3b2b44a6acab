"""The report: one HTML file with everything that the tables tell, and no need of anything else.

frames     queries on tables: numbers of rows, the first rows, orders
model      the content of a page: figures, charts, tables, and the values in their cells
amounts    numbers, times and lists as people read them
charts     heights, widths and labels of bars
overview   decisions over time
basis      cluster, dates, agreement and limits, at the top
decisions  what to decide, and what is safe to do: the first page
findings   the file in which people own and accept findings
grants     every grant with its verdict, over-broad grants
refusals   denied accesses, and the smallest grant that would help
proposals  the decisions that a proposed set would change
changes    findings and grants that changed, access that is new
quality    the input, its unreadable parts, and the basis of the numbers
writing    from the tables of an output folder to a file; the tables as CSV and JSON
ocsf       decisions and changes of ACLs as events of OCSF
rendering  the report as HTML; templates, style and script are in page/
"""
