"""Random numbers of gamma and Poisson distributions, with seeds."""

import tensorflow as tf

tf.random.set_seed(1234)
print(tf.random.gamma([3], alpha=2.0, seed=1))
print(tf.random.gamma([2], alpha=[0.5, 1.0, 4.0], beta=2.0, seed=5))
print(tf.random.gamma([2], alpha=tf.constant([0.3], tf.float64), dtype=tf.float64, seed=2))
print(tf.random.stateless_gamma([2], [1, 2], alpha=[0.5, 3.0]))
print(tf.random.poisson([4], lam=3.0, seed=2))
print(tf.random.poisson([3], lam=[2.0, 50.0], dtype=tf.int32, seed=3))
print(tf.random.stateless_poisson([3], [1, 2], lam=4.0))
print(tf.random.stateless_poisson([4, 2], [3, 4], lam=[12.0, 200.0], dtype=tf.float32))


@tf.function
def drawn():
    return tf.random.gamma([2], 3.0, seed=4), tf.random.poisson([2], 5.0)


print(drawn(), drawn())
