"""A simulation runs op by op for 200 turns before the program calls its only function, once at the end."""

import sys
import time

import tensorflow as tf

once = tf.function if "function" in sys.argv else lambda body: body
weights = [tf.Variable(tf.random.normal((16, 16)) * 0.1) for _ in range(8)]


@once
def advance(state, velocity):
    force = tf.tanh(tf.matmul(state, weights[0])) - state
    velocity = 0.95 * velocity + 0.01 * force
    return state + velocity, velocity


@tf.function
def energy(state, velocity):
    return tf.reduce_sum(velocity * velocity) + tf.reduce_sum(state * state)


state, velocity = tf.ones((32, 16)), tf.zeros((32, 16))
state, velocity = advance(state, velocity)
began = time.perf_counter()
for _ in range(200):
    state, velocity = advance(state, velocity)
took = time.perf_counter() - began
print(f"energy {float(energy(state, velocity)):.4f}, 200 turns: {1000 * took:.1f} ms")
