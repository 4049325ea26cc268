"""What to do about a violation, in a sentence or two."""

from __future__ import annotations

from tflogscope.model.sentences import rows

# By cause of eager execution.
CAUSES = {
    "constant": "A Python or NumPy value became a tensor. Make it once, before the loop.",
    "variable-init": "A variable was made or set. Make variables once, before the loop.",
    "optimizer-slots": "An optimizer made its variables. Make the optimizer once, before the loop.",
    "metrics": "A metric was made, reset or read. Read metrics once per epoch, not per step.",
    "read-variable": "Python read a variable: float(v), v.numpy(), a callback. Read it less often.",
    "lifted-initializer": "A tf.function made variables in its first call. Make them before it.",
    "dataset": "Python made a data set or asked for its next element. Loop over the data set "
    "inside the tf.function.",
    "py-function": "tf.py_function runs Python in the middle of a graph, op by op. Write it with "
    "TensorFlow ops, so that it becomes part of the graph.",
    "run-eagerly": "The training step runs op by op: compile(run_eagerly=True) or "
    "tf.config.run_functions_eagerly(True). Take that out.",
    "gradient-tape": "A GradientTape was asked for gradients outside of a tf.function. Put the "
    "whole step into one: tape, gradients, update.",
    "control-flow": "A TensorFlow loop or branch (tf.while_loop, tf.map_fn, tf.cond) was called "
    "outside of a tf.function, and Python ran it. Call it inside one.",
    "outside-function": "Python code outside of any tf.function asked for it. Move that code into "
    "the function that is called next to it, or into a tf.function of its own.",
    "unknown": "The log doesn't show what asked for it. Look at the lines around it.",
}

RETRACES = rows("finding")["retraced"].advised()
IMPLEMENTATION = (
    "oneDNN chose it for these shapes, types and attributes. Record with ONEDNN_VERBOSE=all to see "
    "which others it passed over, and why."
)
RECORD_OPS = (
    "Record with TF_CPP_MAX_VLOG_LEVEL=2 and standard error in the file, or with tflogscope record."
)
RECORD_ONEDNN = "Record with ONEDNN_VERBOSE=1 and standard output in the file."
