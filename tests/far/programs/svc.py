import sys, time
import tensorflow as tf

role = sys.argv[1]
if role == "dispatcher":
    d = tf.data.experimental.service.DispatchServer(
        tf.data.experimental.service.DispatcherConfig(port=23201)
    )
    d.join()
if role == "worker":
    w = tf.data.experimental.service.WorkerServer(
        tf.data.experimental.service.WorkerConfig(
            dispatcher_address="localhost:23201", worker_address="localhost:23202", port=23202
        )
    )
    w.join()
ds = (
    tf.data.Dataset.range(200)
    .map(lambda x: tf.reduce_sum(tf.random.stateless_normal([64, 64], [x, 1]) @ tf.ones([64, 64])))
    .batch(5)
)
ds = ds.apply(
    tf.data.experimental.service.distribute("distributed_epoch", "grpc://localhost:23201")
)
w = tf.Variable(1.0)


@tf.function
def step(x):
    w.assign_add(tf.reduce_mean(x))


n = 0
for x in ds:
    step(x)
    n += 1
print("steps", n, float(w))
