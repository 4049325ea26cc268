"""Why each eager op ran eagerly; docs/causes.md has the causes.

`table` gives each execution its cause, the first of `rules` that fits. Rules read facts, most of
them about what stands around an op in the `eager_sequence`: `facts`, `metric_facts`,
`variable_facts`. `keras_own` knows the rows that no program can avoid.
"""
