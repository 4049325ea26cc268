"""Each of five epochs distributes its data by a tf.data service anew; with `once` one iterator has all epochs."""

import sys
import time

import numpy as np
import tensorflow as tf

ONCE = "once" in sys.argv[1:]
EPOCHS, ROWS = 5, np.ones((32, 64), "float32")
dispatcher = tf.data.experimental.service.DispatchServer()
worker = tf.data.experimental.service.WorkerServer(
    tf.data.experimental.service.WorkerConfig(dispatcher_address=dispatcher.target.split("://")[1])
)


def batches():
    data = tf.data.Dataset.from_tensor_slices(ROWS).map(lambda row: row * 2.0).batch(8)
    data = data.repeat(EPOCHS) if ONCE else data
    served = tf.data.experimental.service.distribute("parallel_epochs", dispatcher.target)
    return data.apply(served)


@tf.function
def step(batch):
    return tf.reduce_sum(tf.matmul(batch, batch, transpose_b=True))


start = time.perf_counter()
for _ in range(1 if ONCE else EPOCHS):
    for batch in batches():
        step(batch)
print(f"{time.perf_counter() - start:.3f} s")
