"""Blocks of text → typed events, and the account of every line.

In the order in which a block passes: `scan` has the compiled scanner read it, `store` keeps what
that gives, `events` holds the result as tables. `messages` reads records by their message, `onednn`
verbose lines.
"""
