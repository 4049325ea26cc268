"""The log: what TensorFlow would have written while the program ran, and the truth beside it. The
emitter only listens (`core/telling.py`); the program runs the same without it.

dialects.py     what differs from release to release
sites.py        which line of TensorFlow's source says what, and at which VLOG level
text.py         nodes as text
records.py      lines, executions, primitives on their way
costs.py        how long things take: a model, by a virtual clock
voice.py        the lines of one Python thread
primitives.py   which primitives of oneDNN a kernel runs
verbose.py      their lines
functions.py    a function made ready to run
running.py      the nodes of a step, dealt to threads
listener.py     all that is heard, in lines
output.py       prefixes, order, bytes
truth.py        what really happened, as JSON lines
faults.py       what can go wrong with a log
process.py      a program's output becomes a log
"""
