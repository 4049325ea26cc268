"""Inference from four Python threads at once: one function, warmed up, and an eager pre-processing step in each thread."""
import truth
import threading
import numpy as np
import tensorflow as tf

w1 = tf.Variable(tf.random.stateless_normal((16, 64), seed=(1, 2)))
w2 = tf.Variable(tf.random.stateless_normal((64, 4), seed=(3, 4)))


@tf.function(input_signature=[tf.TensorSpec((None, 16), tf.float32)])
def predict(x):
    truth.traced("predict")
    return tf.nn.softmax(tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2))


with truth.call("warm up"):
    predict(tf.zeros((1, 16)))


def client(number):
    rng = np.random.default_rng(number)
    for i in range(5):
        x = tf.constant(rng.normal(size=(4, 16)), tf.float32)
        with truth.phase("pre-processing"):
            x = (x - tf.reduce_mean(x)) / 2.0
            truth.asked("Mean"), truth.asked("Sub"), truth.asked("RealDiv")
        with truth.call("predict"):
            predict(x)


threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
truth.known("20 calls in four threads after one that warms up; three eager ops before each of the 20", calls=21, eager=60, retraces=0)
