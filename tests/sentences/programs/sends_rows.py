"""A tf.data service sends rows that the program batches (`rows`), or batches (`batches`)."""

import sys

import tensorflow as tf

service = tf.data.experimental.service
dispatcher = service.DispatchServer()
address = dispatcher.target.split("://")[1]
worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
data = tf.data.Dataset.from_tensor_slices(tf.random.normal([480, 4000]))
if sys.argv[1] == "batches":
    data = data.batch(40)
data = data.apply(service.distribute("parallel_epochs", dispatcher.target))
if sys.argv[1] == "rows":
    data = data.batch(40)


@tf.function
def step(batch):
    return tf.reduce_sum(batch)


for batch in data:
    step(batch)
