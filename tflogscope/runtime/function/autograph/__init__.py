"""AutoGraph: `if`, `while`, `for` of Python as ops, where a tensor decides. See
`tensorflow/python/autograph/`.

conversion.py   the source of a function is parsed, rewritten and compiled; calls go on with it
jumps.py        break, continue and return become flags
rewriting.py    which variables a statement has to hand on; statements become calls of operators
operators.py    what those do: a conditional, a loop, or what Python does
"""
