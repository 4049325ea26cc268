"""A step whose rate is a Python float that changes; `mended`: it is a tensor."""


import sys
import time

import tensorflow as tf

mended = sys.argv[1:] == ["mended"]
tf.random.set_seed(0)
w = [tf.Variable(tf.random.normal(shape) * 0.05) for shape in ((64, 256), (256, 32))]
x, y = tf.random.normal((128, 64)), tf.random.normal((128, 32))


@tf.function
def descend(rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ w[0]) @ w[1] - y) ** 2)
    for v, g in zip(w, tape.gradient(loss, w)):
        v.assign_sub(rate * g)
    return loss


began = time.perf_counter()
for i in range(40):
    rate = 0.1 / (1 + i // 4)
    float(descend(tf.constant(rate) if mended else rate))
print(time.perf_counter() - began)
