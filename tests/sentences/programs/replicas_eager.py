"""Replicas of MirroredStrategy that train op by op, on threads that the main one waits for."""

import tensorflow as tf

cpu = tf.config.LogicalDeviceConfiguration()
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [cpu, cpu])
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    weights = tf.Variable(tf.ones([32, 8]))
batch = tf.ones([16, 32])


def replica():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(batch, weights)))
    gradient = tape.gradient(loss, weights)
    weights.assign_sub(0.05 * gradient)
    return loss


for _ in range(12):
    losses = strategy.run(replica)
    mean = strategy.reduce("MEAN", losses, axis=None)
