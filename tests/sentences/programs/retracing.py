"""Real retraces of one function (Python values, shapes, types), and two functions of the same name."""
import truth
import tensorflow as tf

w = tf.Variable(tf.eye(8))


@tf.function
def power(x, n):
    truth.traced("power", n=n)
    for _ in range(n):
        x = tf.matmul(x, w)
    return x


@tf.function
def norm(x):
    truth.traced("norm", shape=str(x.shape), dtype=x.dtype.name)
    return x / tf.reduce_max(tf.abs(x))


def make(scale):
    @tf.function
    def layer(x):
        truth.traced(f"layer times {scale}")
        if scale == 2:
            return tf.matmul(x, w) * 2.0
        return tf.nn.softmax(x)

    return layer


x = tf.ones((4, 8))
for n in (1, 2, 3):
    with truth.call("power", n=n):
        power(x, n)
for shape in ((3,), (5,), (2, 2)):
    with truth.call("norm", shape=list(shape)):
        norm(tf.ones(shape))
with truth.call("norm", dtype="float64"):
    norm(tf.ones((3,), tf.float64))
double, soft = make(2), make(1)
for i in range(3):
    with truth.call("layer (double)"):
        double(x)
    with truth.call("layer (softmax)"):
        soft(x)
truth.known("power was traced 3 times (2 retraces), norm 4 times (3 retraces)", retraces={"power": 2, "norm": 3})
truth.known("the two functions named layer are two: each was traced once, none again", retraces={"layer": 0})
