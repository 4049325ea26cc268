"""A moving average of a Keras model's weights, op by op between its steps; in the step."""

import sys
import time

import keras
import tensorflow as tf

model, averaged = (
    keras.Sequential([keras.Input((16,)), *(keras.layers.Dense(16) for _ in range(6))])
    for _ in range(2)
)


def average():
    for slow, fast in zip(averaged.weights, model.weights):
        slow.assign(0.99 * slow + 0.01 * fast)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    for w, gradient in zip(model.weights, tape.gradient(loss, model.weights)):
        w.assign(w - 0.01 * gradient)
    if sys.argv[1] == "inside":
        average()
    return loss


x = tf.ones((8, 16))
step(x)
average()
began = time.perf_counter()
for _ in range(20):
    step(x)
    if sys.argv[1] == "between":
        average()
print(f"{time.perf_counter() - began:.3f} s", flush=True)
