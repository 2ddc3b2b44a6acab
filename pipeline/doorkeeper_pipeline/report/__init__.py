"""The report: one HTML file with everything that the tables tell, and no need of anything else.

visible    names as they are shown: nothing hides in them
frames     questions to tables: numbers of rows, the first rows, orders
model      what a page holds: figures, charts, tables, and the values in their cells
amounts    numbers, times and lists as people read them
charts     heights, widths and labels of bars
overview   what happened, and the figures at the top
grants     unused and over-broad grants
refusals   who was refused what, and the smallest grant that would help
proposals  least privilege, and what a proposed set would turn
changes    grants that changed, access that is new
quality    what was read, what was not, and what the numbers rest on
content    all of them as one report
writing    from the tables of an output folder to a file
rendering  the report as HTML; templates, style and script are in page/
"""
