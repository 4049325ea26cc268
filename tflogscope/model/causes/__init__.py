"""Why each eager op ran eagerly; docs/causes.md has the causes.

`causes` gives each execution its cause, that of the first of `rules` with a pattern that fits the
row of `eager_ops`; `patterns` finds it.
"""
