"""One loop over data, which takes more than a second, and what comes behind it.

With autotuning; without it, but with a pause behind the loop.
"""

import sys
import time

import tensorflow as tf

data = tf.data.Dataset.range(160).map(lambda i: i + 1).batch(4).prefetch(2)
if sys.argv[1] == "pauses":
    options = tf.data.Options()
    options.autotune.enabled = False
    data = data.with_options(options)
table = tf.random.stateless_normal((1024, 1024), (1, 2))


@tf.function
def step(x):
    y = tf.cast(tf.reduce_sum(x), tf.float32) * table
    for _ in range(3):
        y = tf.tanh(y @ table)
    return tf.reduce_sum(y)


def main():
    step(tf.zeros((4,), tf.int64))
    began = time.perf_counter()
    for x in data:
        total = step(x)
    if sys.argv[1] == "pauses":
        time.sleep(0.3)
    total += 1
    print(float(total), f"{time.perf_counter() - began:.2f} s", flush=True)


main()
