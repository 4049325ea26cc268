"""Forward-mode differentiation, vectorized_map and jacobians: TensorFlow makes functions of its own."""
import truth
import tensorflow as tf

w = tf.Variable(tf.random.stateless_normal((6, 6), seed=(1, 2)))


def model(x):
    return tf.tanh(tf.matmul(x, w))


@tf.function
def jvp(x, v):
    truth.traced("jvp")
    with tf.autodiff.ForwardAccumulator(x, v) as acc:
        y = model(x)
    return acc.jvp(y)


@tf.function
def jacobian(x):
    truth.traced("jacobian")
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    return tape.jacobian(y, x)


x, v = tf.ones((3, 6)), tf.ones((3, 6))
for i in range(2):
    with truth.call("jvp"):
        jvp(x, v)
    with truth.call("jacobian"):
        jacobian(x)
with truth.call("eager jvp"):
    with tf.autodiff.ForwardAccumulator(x, v) as acc:
        y = model(x)
    acc.jvp(y)
for i in range(2):
    with truth.call("vectorized_map"):
        tf.vectorized_map(lambda row: tf.reduce_sum(tf.square(row)), x)
with truth.call("eager jacobian"):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    tape.jacobian(y, x)
truth.known("the user wrote two functions, jvp and jacobian, each traced once; all others are TensorFlow's own", user_functions=2, retraces=0)
