"""The second derivative of a network by its point: of a Jacobian the diagonal, also by its rows (`rows`) or with other parts (`both`), or a gradient (`once`)."""

import sys
import time

import keras
import tensorflow as tf

layers = keras.layers
network = keras.Sequential([keras.Input((1,)), layers.Dense(32, "tanh"), layers.Dense(32, "tanh"), layers.Dense(1)])
points = tf.reshape(tf.linspace(-1.0, 1.0, 150), (150, 1))


@tf.function
def bend(x):
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = network(x)
        slope = first.gradient(y, x)
    if sys.argv[1] == "once":
        return second.gradient(slope, x)[:, 0]
    jacobian = second.jacobian(slope, x)[:, 0, :, 0]
    if sys.argv[1] == "both":
        return tf.linalg.diag_part(jacobian) / tf.reduce_sum(jacobian, axis=1)
    if sys.argv[1] == "rows":
        return tf.gather_nd(jacobian, tf.tile(tf.range(150)[:, None], [1, 2]))
    return tf.linalg.diag_part(jacobian)


result = bend(points)
began = time.perf_counter()
for _ in range(20):
    result = bend(points)
print(f"{(time.perf_counter() - began) * 1000:.0f} ms, {float(tf.reduce_sum(result)):.4f}")
