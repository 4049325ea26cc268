"""Events → the linked run, in the order in which a log is understood.

`executions` (what ran), `calls` (for whom), `links` (which oneDNN lines are theirs), `costs` (what
it took without the log), `causes` (why ops ran eagerly), `reasons` (why nodes were not rewritten),
`rows` (the tables). `pipeline` has these stages. Then `ledger` (who pays for each stretch of
time), `findings` (what to change), `slices` and `pictures` (what is drawn), `overview` (what is
said). `run` is what the rest of the program knows, `log_run` the run of a log, `opening` makes it;
`common` is what all of them use.
"""
