"""A function whose products are of constants only: grappler works them out ahead, by real kernels (step -1)."""
import truth
import numpy as np
import tensorflow as tf

A = np.full((40, 30), 0.5, "float32")
B = np.full((30, 20), 2.0, "float32")
IMAGE = np.ones((1, 8, 8, 4), "float32")
FILTER = np.ones((3, 3, 4, 8), "float32")


@tf.function
def table(x):
    truth.traced("table")
    product = tf.matmul(tf.constant(A), tf.constant(B))
    picture = tf.nn.conv2d(tf.constant(IMAGE), tf.constant(FILTER), 1, "SAME")
    return x + tf.reduce_sum(product) + tf.reduce_sum(picture)


for i in range(3):
    with truth.call("table"):
        table(tf.constant(float(i)))
truth.known("the product and the convolution run once, while the function is made ready; no call runs them", folded=["MatMul", "Conv2D"])
