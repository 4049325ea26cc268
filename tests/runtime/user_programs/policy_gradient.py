"""A policy that learns in an environment of NumPy; small pieces of reinforcement learning."""

import numpy as np
import tensorflow as tf


def show(label, result):
    print(label)
    try:
        print(result())
    except Exception as error:
        print(type(error).__name__, str(error)[:200])


tf.random.set_seed(0)
np.random.seed(0)
tf.keras.utils.set_random_seed(0)


class Policy(tf.keras.Model):
    def __init__(self, n, hidden):
        super().__init__()
        self.common = tf.keras.layers.Dense(hidden, activation="relu")
        self.actor = tf.keras.layers.Dense(n)
        self.critic = tf.keras.layers.Dense(1)

    def call(self, inputs):
        x = self.common(inputs)
        return self.actor(x), self.critic(x)


p = Policy(2, 8)
opt = tf.keras.optimizers.Adam(0.01)


def env_step(a):
    return np.array([a, 1 - a, 0.5], np.float32), np.array(a, np.int32), np.array(0, np.int32)


@tf.function(input_signature=[tf.TensorSpec((), tf.int64)])
def tf_step(a):
    return tf.numpy_function(env_step, [a], [tf.float32, tf.int32, tf.int32])


show("tf_step", lambda: tf_step(tf.constant(1, tf.int64)))


def run(s, steps):
    probs = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    vals = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    rew = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    shape = s.shape
    for t in tf.range(steps):
        logits, v = p(tf.expand_dims(s, 0))
        a = tf.random.categorical(logits, 1, seed=5)[0, 0]
        probs = probs.write(t, tf.nn.softmax(logits)[0, a])
        vals = vals.write(t, tf.squeeze(v))
        s, r, d = tf_step(a)
        s.set_shape(shape)
        rew = rew.write(t, r)
        if tf.cast(d, tf.bool):
            break
    return probs.stack(), vals.stack(), rew.stack()


def returns(r, g=0.9):
    n = tf.shape(r)[0]
    out = tf.TensorArray(tf.float32, size=n)
    r = tf.cast(r[::-1], tf.float32)
    acc = tf.constant(0.0)
    sh = acc.shape
    for i in tf.range(n):
        acc = r[i] + g * acc
        acc.set_shape(sh)
        out = out.write(i, acc)
    return out.stack()[::-1]


hub = tf.keras.losses.Huber(reduction=tf.keras.losses.Reduction.SUM)


@tf.function
def train(s):
    with tf.GradientTape() as t:
        pr, v, r = run(s, 5)
        R = returns(r)
        pr, v, R = [tf.expand_dims(x, 1) for x in (pr, v, R)]
        loss = -tf.reduce_sum(tf.math.log(pr) * (R - v)) + hub(v, R)
    opt.apply_gradients(zip(t.gradient(loss, p.trainable_variables), p.trainable_variables))
    return loss, tf.reduce_sum(r)


show(
    "train",
    lambda: [[round(float(x), 4) for x in train(tf.constant([0.1, 0.2, 0.3]))] for _ in range(3)],
)
show("returns", lambda: returns(tf.constant([1, 0, 1])))
show("summary", lambda: p.summary())
Q = tf.Variable(tf.zeros([4, 2]))


@tf.function
def upd(s, a, target):
    q = tf.gather_nd(Q, [[s, a]])[0]
    Q.scatter_nd_add([[s, a]], [0.1 * (target - q)])
    return Q


show("q", lambda: (upd(1, 0, 1.0), upd(1, 0, 1.0).numpy())[1])


class Replay:
    def __init__(self):
        self.d = []

    def add(self, x):
        self.d.append(x)

    def sample(self, n):
        return tf.stack([self.d[i] for i in np.random.RandomState(0).randint(len(self.d), size=n)])


rb = Replay()
[rb.add(tf.constant([float(i), 1.0])) for i in range(5)]
show("replay", lambda: rb.sample(3))
target = tf.keras.models.clone_model(
    tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
)
src = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), kernel_initializer="ones")])


def soft(tau):
    for a, b in zip(target.variables, src.variables):
        a.assign(tau * b + (1 - tau) * a * 0)
    return target.get_weights()[0]


show("soft", lambda: soft(0.5))
show(
    "clip grads",
    lambda: [
        g.numpy()
        for g in tf.clip_by_global_norm([tf.constant([3.0, 4.0]), tf.constant([12.0])], 6.5)[0]
    ],
)
show(
    "one hot q",
    lambda: tf.reduce_sum(tf.constant([[1.0, 2.0], [3.0, 4.0]]) * tf.one_hot([1, 0], 2), axis=1),
)
