"""A program that silences TensorFlow itself, as many do."""
import truth
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

w = tf.Variable(tf.eye(16))


@tf.function
def step(x):
    truth.traced("step")
    return tf.reduce_sum(tf.matmul(x, w))


for i in range(4):
    with truth.call("step"):
        s = step(tf.ones((8, 16)))
print("sum", float(s))
truth.known("the program sets TF_CPP_MIN_LOG_LEVEL=3 itself before the import, so no record of TensorFlow is printed")
