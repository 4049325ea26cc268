"""Many runs: a store of their tables, ranks side by side, figures over time.

`naming` (which files are which run), `folder` (a directory or a URL), `layout` (what is where in a
store), `pools` (processes, a Dask cluster), `collect` (runs into a store), `store` (reading it),
`stored_run` (one of its runs).
"""
