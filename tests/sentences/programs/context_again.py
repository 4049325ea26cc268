"""One process whose eager runtime begins anew: it joins a cluster of its own after its first ops."""

import socket

import tensorflow as tf

with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]


@tf.function
def square(x):
    return tf.reduce_sum(x @ x)


square(tf.ones((4, 4)))
server = tf.distribute.Server({"worker": [f"localhost:{port}"]}, job_name="worker", task_index=0)
tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec({"worker": [f"localhost:{port}"]}), job_name="local")
square(tf.ones((5, 5)))
square(tf.ones((5, 5)))
