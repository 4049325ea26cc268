"""Findings: what costs time or went wrong, and what to change.

Each module yields a `finding` for what it knows: `recording` (crashes, lost lines), `eager`,
`tracing`, `gaps` (between calls), `data_waits`, `python_code`, `graphs`, `onednn`; `lookups`,
`broadcasts`, `unneeded` and `invariant` (what nodes needn't compute); for logs of oneDNN alone
`verbose`; `warnings` has what TensorFlow itself warned of.
`table` orders them and gives them their time.
"""
