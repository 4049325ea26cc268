"""The reference runtime: a small TensorFlow in Python and NumPy, made to be read.

In the order in which TensorFlow does things (docs/runtime.md tells the story with examples):

    errors.py, dtypes.py, shapes.py   what everything is said in
    tensors.py, operators.py          tensors: eager ones have a value, symbolic ones a node
    values.py, conversion.py          Python and NumPy values become tensors
    operations.py, record.py          the registry of ops; what an op call leaves behind
    context.py                        `execute`: the one place where every op call passes
    eager.py, graph.py                what it does there: run the kernel, or add a node
    refusing.py, stacks.py            what is said of a node that can't be, or that fails
    constant_value.py, refining.py    what is known of a value before its graph runs, and the runs
                                      that it takes; traversal.py, inputs first
    graph_def.py, node_text.py        graphs and nodes as data, and as text
    tape.py, gradients/               what is remembered, and how one goes back over it
    telling.py, logs.py               whoever wants to know is told
    ops/, library/                    the ops; Python functions made of them
    variables.py, resources.py, module.py   values that change, and who holds them
    function/                         `tf.function`: tracing, keys, captures, calls
    autograph/, control_flow/         `if` and `while` over tensors
    vectorizing/                      independent iterations all at once, for Jacobians
    py_function.py                    Python inside a graph
    passes/                           graphs are rewritten before they run
    executor/                         graphs run
    sessions.py, reference_variables.py   TensorFlow 1: graphs that a session runs;
                                      variable_scopes.py, collections_v1.py, variables_v1.py,
                                      optimizers_v1.py, learning_rates_v1.py, losses_v1.py,
                                      moving_averages.py are what its programs call
    data/, keras/                     data sets and models, in terms of `tf`
    release.py, keras3/               what later releases do otherwise; their models
    api/                              the names of `tf`: it *is* `tf`
    simulate.py                       a program file runs on it

It stands apart: it imports NumPy and nothing of the analyzer, and of the analyzer only
`cli.simulate` may import it.
"""

from __future__ import annotations
