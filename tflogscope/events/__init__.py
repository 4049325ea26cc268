"""Blocks of text → typed events, and the account of every line.

In the order in which a block passes: `lines` puts each line in a class (with `prefix`, `sites`,
`nodes`, `dictionary` and `digits`), `torn` takes apart what did not fit, `scan` runs this over all
blocks, `events` holds the result as tables.
"""
