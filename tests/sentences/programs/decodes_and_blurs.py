"""Images are decoded and blurred in a map, in each of three epochs; before that a loop writes them.

What is true: 24 elements; the blur takes far longer than decoding, and the loop beside its waits a few ms.
"""

import os
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
for i in range(32):
    image = np.random.default_rng(i).integers(0, 255, (96, 96, 3)).astype("uint8")
    tf.io.write_file(os.path.join(folder, f"{i}.png"), tf.io.encode_png(image))


def load(path):
    image = tf.image.convert_image_dtype(tf.io.decode_png(tf.io.read_file(path), 3), tf.float32)
    kernel = tf.ones((25, 25, 3, 1)) / 625
    for _ in range(3):
        image = tf.nn.depthwise_conv2d(image[None], kernel, [1, 1, 1, 1], "SAME")[0]
    return tf.reduce_mean(image, (0, 1))


w = tf.Variable(tf.ones((3, 4)))


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ w))
    w.assign_sub(0.1 * tape.gradient(loss, w))


data = tf.data.Dataset.list_files(os.path.join(folder, "*.png")).map(load).batch(4)
for _ in range(3):
    for x in data:
        train(x)
