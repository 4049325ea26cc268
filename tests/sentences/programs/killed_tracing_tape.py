"""Killed by SIGKILL in the middle of tracing a training step: each layer is trained by a tape of its own."""
import truth
import os
import signal
import threading
import time
import tensorflow as tf

w = tf.Variable(tf.eye(16))
halfway = threading.Event()


def kill():
    halfway.wait()
    truth.write("kill", stage="tracing big, 60 of 120 layers traced", t_us=truth.now())
    os.kill(os.getpid(), signal.SIGKILL)


@tf.function
def small(x):
    truth.traced("small")
    return tf.matmul(x, w)


@tf.function
def big(x):
    truth.traced("big")
    for layer in range(120):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.nn.relu(tf.matmul(x, w)))
        x = x - 0.1 * tape.gradient(loss, x)
        if layer == 60:
            halfway.set()
        time.sleep(0.01)
    return x


threading.Thread(target=kill, daemon=True).start()
x = tf.ones((4, 16))
for i in range(3):
    with truth.call("small"):
        small(x)
truth.write("begins", name="big", t_us=truth.now())
with truth.call("big"):
    big(x)
