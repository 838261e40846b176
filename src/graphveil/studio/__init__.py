"""The studio: from a table to a report in a local browser, for people who do not write code.

The page is served to this computer alone. Before a release it holds names and types of columns, what its user typed,
and forecasts from public numbers; no value of the table.
"""
