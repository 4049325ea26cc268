"""Two replicas wait for a generator that sleeps: each batch is requested twice, and the second is there at once."""

import time

import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def samples():
    for _ in range(14):
        time.sleep(0.03)
        yield np.ones((4, 20), "float32")


spec = tf.TensorSpec((4, 20), tf.float32)
data = tf.data.Dataset.from_generator(samples, output_signature=spec).unbatch()
data = strategy.experimental_distribute_dataset(data.batch(4, drop_remainder=True))
with strategy.scope():
    w = tf.Variable(tf.zeros((20, 1)))


@tf.function
def train(batch):
    def replica(x):
        w.assign_sub(0.05 * tf.transpose(x[:1]))
        return tf.reduce_sum(w)

    return strategy.reduce("MEAN", strategy.run(replica, args=(batch,)), axis=None)


waited, count, last = 0.0, 0, time.perf_counter()
for batch in data:
    waited += time.perf_counter() - last
    train(batch)
    count, last = count + 1, time.perf_counter()
print(f"waited {1000 * waited:.0f} ms for {count} batches")
