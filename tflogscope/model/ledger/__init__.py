"""The ledger: each stretch of a thread's time once, with its phase and the finding that owns it.

`phases` says what goes on, `stretches` cuts the time of threads, `owners` gives stretches to
findings, `tables` adds them up.
"""
