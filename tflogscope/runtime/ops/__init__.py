"""The ops: what each takes and gives, how it is computed, how it is differentiated.

`declare.py` says how an op is declared and `call.py` how it is called; then one file per area, in
each of them an entry per op: its signature, shape function, kernel and gradient, one below the
other.
"""
