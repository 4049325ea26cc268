"""A py_function that raises ValueError in the third call; caught, then the program goes on."""
import truth
import tensorflow as tf

w = tf.Variable(tf.eye(4))
count = 0


def check(x):
    global count
    count += 1
    if count == 3:
        raise ValueError("the third batch is bad")
    return x * 2.0


@tf.function
def step(x):
    truth.traced("step")
    y = tf.py_function(check, [x], tf.float32)
    return tf.reduce_sum(tf.matmul(tf.ensure_shape(y, (4, 4)), w))


x = tf.ones((4, 4))
for i in range(5):
    try:
        with truth.call("step"):
            step(x)
    except tf.errors.OpError as error:
        truth.failed("step", error)
        print("caught", type(error).__name__)
truth.known("the third of five calls failed: EagerPyFunc, INVALID_ARGUMENT: ValueError", failures=1, failed_calls=1)
