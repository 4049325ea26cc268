"""What converted code calls (as `ag__.…`): each operator looks at the value at hand and stays in
Python, or builds a graph.

    variables.py      names without a value
    logical.py        `and`, `or`, `not`, `a if c else b`
    conditional.py    `if`
    loops.py          `while`, `for`
    placeholders.py   loop variables that get their first value inside the loop
    checks.py         whether values can be the state of a conditional or loop
    builtins.py       `len`, `range`, `int`, … of tensors
"""
