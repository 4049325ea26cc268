"""Why a node kept its kernel; docs/reasons.md has the reasons.

`table` gives each node that was not rewritten the first of `rules` that fits; `onednn_ops` are the
ops that TensorFlow's layout pass knows, by release.
"""
