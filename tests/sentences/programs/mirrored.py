"""MirroredStrategy on two logical CPUs: a compiled step that strategy.run calls on both, six times; nothing eager of the program's own."""
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    w = tf.Variable(tf.ones((6, 2)))


def replica(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ w - y))
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


@tf.function
def step(x, y):
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(replica, (x, y)), axis=None)


data = tf.data.Dataset.from_tensor_slices((tf.ones((48, 6)), tf.ones((48, 2)))).batch(8, drop_remainder=True)
for x, y in strategy.experimental_distribute_dataset(data):
    step(x, y)
