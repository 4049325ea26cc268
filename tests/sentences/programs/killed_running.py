"""Killed by SIGKILL while a call runs: a long loop in a graph."""
import truth
import os
import signal
import threading
import time
import tensorflow as tf

w = tf.Variable(tf.eye(1024))


@tf.function
def long_loop(x, n):
    truth.traced("long_loop")
    for _ in tf.range(n):
        x = tf.nn.relu(tf.matmul(x, w))
    return x


def kill():
    time.sleep(1.0)
    truth.write("kill", stage="long_loop runs, second call", t_us=truth.now())
    os.kill(os.getpid(), signal.SIGKILL)


x = tf.ones((1024, 1024))
with truth.call("long_loop", n=3):
    long_loop(x, tf.constant(3))
threading.Thread(target=kill, daemon=True).start()
truth.write("begins", name="long_loop", t_us=truth.now())
with truth.call("long_loop", n=100000):
    long_loop(x, tf.constant(100000))
