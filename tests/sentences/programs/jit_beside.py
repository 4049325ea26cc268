"""Functions with jit_compile=True beside normal ones."""
import truth
import tensorflow as tf

w1 = tf.Variable(tf.random.stateless_normal((64, 64), seed=(1, 2)))
w2 = tf.Variable(tf.random.stateless_normal((64, 8), seed=(3, 4)))


@tf.function(jit_compile=True)
def compiled(x):
    truth.traced("compiled")
    for _ in range(4):
        x = tf.nn.relu(tf.matmul(x, w1))
    return tf.nn.softmax(tf.matmul(x, w2))


@tf.function
def normal(x):
    truth.traced("normal")
    for _ in range(4):
        x = tf.nn.relu(tf.matmul(x, w1))
    return tf.nn.softmax(tf.matmul(x, w2))


@tf.function
def mixed(x):
    truth.traced("mixed")
    return tf.matmul(compiled(x), w2, transpose_b=True)


x = tf.random.stateless_normal((32, 64), seed=(5, 6))
for i in range(5):
    with truth.call("compiled"):
        a = compiled(x)
    with truth.call("normal"):
        b = normal(x)
with truth.call("compiled", shape="48x64"):
    compiled(tf.ones((48, 64)))
for i in range(3):
    with truth.call("mixed"):
        mixed(x)
truth.known("`compiled` runs inside XLA: its 5 matrix products a call show no nodes", xla_calls=6, matmuls_hidden=30)
truth.known("`compiled` is traced for two shapes: a real retrace; `mixed` reuses the first trace", traces=2)
