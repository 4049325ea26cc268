import numpy as np
import tensorflow as tf

tf.random.set_seed(0)


class LSTMCell(tf.Module):
    def __init__(self, n_in, n_hidden, name=None):
        super().__init__(name)
        init = tf.random_normal_initializer(stddev=0.1, seed=1)
        self.W = tf.Variable(init([n_in + n_hidden, 4 * n_hidden]), name="W")
        self.b = tf.Variable(tf.zeros([4 * n_hidden]), name="b")
        self.n = n_hidden

    @tf.function
    def __call__(self, x, state):
        h, c = state
        z = tf.concat([x, h], axis=1) @ self.W + self.b
        i, j, f, o = tf.split(z, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, c


cell = LSTMCell(3, 4)
data = np.sin(np.arange(2 * 6 * 3).reshape(2, 6, 3)).astype("float32")


@tf.function
def run(xs):
    print("Tracing run")
    h = tf.zeros([2, 4])
    c = tf.zeros([2, 4])
    ta = tf.TensorArray(tf.float32, size=tf.shape(xs)[1])
    for t in tf.range(tf.shape(xs)[1]):
        h, c = cell(xs[:, t], (h, c))
        ta = ta.write(t, h)
    return tf.transpose(ta.stack(), [1, 0, 2])


out = run(tf.constant(data))
print(out.shape)
print(np.round(out.numpy()[0], 4))
with tf.GradientTape() as tape:
    o = run(tf.constant(data))
    loss = tf.reduce_sum(o[:, -1] ** 2)
g = tape.gradient(loss, cell.trainable_variables)
print(loss.numpy(), [tf.norm(x).numpy() for x in g])
print(tf.reduce_max(g[1]), tf.argmax(g[1]))
