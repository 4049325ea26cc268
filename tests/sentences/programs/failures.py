"""Failures, all caught: eager, in a function, in a nested function, and one that cancels a blocked sibling."""
import truth
import tensorflow as tf

queue = tf.queue.FIFOQueue(2, [tf.float32])


@tf.function
def gather(x, i):
    truth.traced("gather")
    return tf.gather(tf.nn.relu(x), i)


@tf.function
def outer(x, i):
    truth.traced("outer")
    return tf.reduce_sum(gather(x * 2.0, i))


@tf.function
def branches(x):
    truth.traced("branches")
    blocked = queue.dequeue()
    bad = tf.debugging.check_numerics(tf.math.log(x - 10.0), "log of a negative number")
    return tf.reduce_sum(bad), blocked


x = tf.ones((4, 4))
cases = [
    ("eager MatMul", "MatMul", lambda: tf.raw_ops.MatMul(a=x, b=tf.ones((3, 3)))),
    ("function gather", "GatherV2", lambda: gather(x, tf.constant([9]))),
    ("nested gather", "GatherV2", lambda: outer(x, tf.constant([9]))),
    ("branches", "CheckNumerics", lambda: branches(x)),
    ("gather again, fine", None, lambda: gather(x, tf.constant([1]))),
]
for name, op, run in cases:
    try:
        with truth.call(name, fails_by=op):
            run()
    except tf.errors.OpError as error:
        truth.failed(name, error, op=op)
        print("caught", name, type(error).__name__)
truth.known("four failures; the dequeue in `branches` was cancelled by CheckNumerics and is none of its own", failures=4)
