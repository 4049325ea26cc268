"""What everything else is made of, in reading order.

dtypes.py, shapes.py, nest.py, errors.py   element types, shapes, nested structures, errors
tensors.py      eager and symbolic tensors
registry.py     what an op is: signature, shape rule, kernel, gradient
context.py      `execute`: the one place where every op call passes
eager.py        the eager context runs the kernel
graph.py        a graph adds a node
tape.py         a gradient tape remembers
conversion.py   Python values become tensors
calls.py        ops called by name with Python values: `O.MatMul(x, [[1.0]])`
known.py        values that are known while a graph is built
telling.py      what happens is told here, to whoever listens
"""
