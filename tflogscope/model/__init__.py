"""Events → the linked run: executions, calls, functions, rewrites.

`run` is the door: tables made when first asked for. Below it, in the order in which they are
worked out: `pairing` (a start and its end), `dispatches` (eager executions and calls), `steps`
(which function and call a step of the executor belongs to), `rewrites`, and the tables.
"""
