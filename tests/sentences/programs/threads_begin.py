"""Three threads call a function at the same time that nobody has called before: each instantiates it."""

import threading

import tensorflow as tf

weight = tf.Variable(tf.fill((64, 64), 1 / 64))


@tf.function
def serve(x):
    for _ in range(6):
        x = tf.nn.relu(tf.matmul(x, weight)) + tf.sin(x)
    return x


served = serve.get_concrete_function(tf.TensorSpec((None, 64)))
rows = [[1.0] * 64] * 8
begin = threading.Barrier(3)


def client():
    begin.wait()
    for _ in range(8):
        served(tf.constant(rows))


threads = [threading.Thread(target=client) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
