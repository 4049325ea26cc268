"""Why a node kept its kernel; docs/reasons.md has the reasons.

`table` gives each node that was not rewritten the first of `rules` that fits. Which ops oneDNN can
run, and what may refuse them, is in grammars/onednn/ops.toml.
"""
