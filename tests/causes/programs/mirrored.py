"""MirroredStrategy on two logical CPU devices, with a training loop of one's own."""

import truth
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    w = tf.Variable(tf.random.stateless_normal((12, 4), seed=(1, 2)))
    b = tf.Variable(tf.zeros((4,)))
x = tf.random.stateless_normal((32, 12), seed=(3, 4))
y = tf.random.stateless_normal((32, 4), seed=(5, 6))
data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(8))


def replica_step(x, y):
    truth.traced("replica_step")
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(x, w)) + b - y))
    grads = tape.gradient(loss, [w, b])
    context = tf.distribute.get_replica_context()
    grads = context.all_reduce(tf.distribute.ReduceOp.MEAN, grads)
    w.assign_sub(0.1 * grads[0])
    b.assign_sub(0.1 * grads[1])
    return loss


@tf.function
def train_step(x, y):
    truth.traced("train_step")
    losses = strategy.run(replica_step, args=(x, y))
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)


for epoch in range(2):
    for bx, by in data:
        with truth.call("train_step"):
            loss = train_step(bx, by)
    print(f"epoch {epoch} loss {loss:.4f}")
truth.known(
    "healthy: two epochs of four batches on two devices; data ends by OUT_OF_RANGE",
    failures=0,
    steps=8,
)
