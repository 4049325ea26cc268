"""The reference runtime: a small TensorFlow in Python and NumPy, made to be read.

It runs small programs unchanged and can write the log that TensorFlow would have written. The
packages, from the ground up; each imports only those above it in this list:

    core/       tensors, shapes, the registry of ops, `execute`, the eager context, graphs, tapes
    ops/        the table of ops: signature, shape rule, NumPy expression, gradient
    passes/     a graph is rewritten: grappler, oneDNN's layout pass
    executor/   a graph runs
    function/   `tf.function`: tracing, control flow, gradients of calls, AutoGraph
    library/    Python functions made of ops: `tf.nn.conv2d`, `tf.reduce_mean`
    data/       a small `tf.data`
    session/    graphs and sessions of TensorFlow 1
    keras/      one Keras, with the recipes of Keras 2 and of Keras 3
    names/      what a program finds under `tf.`
    emitter/    listens, and writes the log
    simulate.py runs a program

`docs/runtime.md` tells it in reading order. `# NB:` marks where it does other than TensorFlow.
"""
