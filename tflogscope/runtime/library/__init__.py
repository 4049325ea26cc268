"""Python functions made of ops: which ops `tf.reduce_mean(x)` calls, under which names.

arrays.py      shapes, constants, joining and splitting
slices.py      `x[1:, 0]`, gathering, `tf.IndexedSlices`, and what `x + y` means
numbers.py     arithmetic, reductions
matrices.py    products, transposes, diagonals
nn.py          activations, convolutions, pools, cross entropies
random.py      seeds and random numbers

See the files of `tensorflow/python/ops` (`array_ops.py`, `math_ops.py`, `nn_ops.py`, …). A name that
is an op and no more (`tf.exp`) is not here but in the table of names.
"""
