"""Why a node kept its kernel; docs/reasons.md has the reasons.

`reasons` gives each node that was not rewritten the first of `rules` whose `conditions` hold;
`plugins` says which rewriters are at work. Which ops oneDNN can run, and what may refuse them, is
in grammars/onednn/ops.toml.
"""
