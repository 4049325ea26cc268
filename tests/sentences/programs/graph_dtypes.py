"""The same ops in functions: one tf.function for each type, which calls each op that is legal for it."""
import truth
import tensorflow as tf
import every_op


def make(dtype):
    chosen = [entry for entry in every_op.OPS if every_op.is_legal(entry[0], dtype)]

    def body(given):
        truth.traced(dtype.name, ops=[name for name, _, _ in chosen])
        results = []
        for (name, _, attributes), arguments in zip(chosen, given):
            made = getattr(tf.raw_ops, name)(**arguments, **attributes)
            results.append(made[0] if isinstance(made, tuple) else made)
        return results

    body.__name__ = f"all_{dtype.name}"
    given = [tf.nest.map_structure(tf.constant, every_op.arrays(a, dtype)) for _, a, _ in chosen]
    return tf.function(body), given


for dtype in every_op.DTYPES:
    function, given = make(dtype)
    try:
        for _ in range(2):
            with truth.call(f"all_{dtype.name}", dtype=dtype.name):
                function(given)
    except Exception as error:
        truth.failed(dtype.name, error)
        print(dtype.name, type(error).__name__, str(error)[:100])
truth.known("each op ran in a graph, never eagerly")
