"""Each of five epochs iterates over a data set that a strategy distributed once to two logical CPUs.

What is true: an iterator for each of five epochs; four of them one iterator over .repeat(5) would save.
"""

import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    w = tf.Variable(tf.ones((16, 16)))


@tf.function
def train(x):
    def replica(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(x @ w)
        grad = tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, w))
        w.assign_sub(0.01 * grad)

    strategy.run(replica, (x,))


data = tf.data.Dataset.from_tensor_slices(tf.ones((16, 16))).batch(8)
data = strategy.experimental_distribute_dataset(data)
for _ in range(5):
    for x in data:
        train(x)
