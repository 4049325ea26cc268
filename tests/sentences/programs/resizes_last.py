"""Images are recoloured before they are resized to a small part."""

import tensorflow as tf


def recolour(image):
    for _ in range(6):
        image = tf.image.adjust_hue(image, 0.1)
    return image


def shrink(image):
    return tf.image.resize(image, [32, 32])


images = tf.random.uniform([8, 256, 256, 3])
data = tf.data.Dataset.from_tensor_slices(images).repeat(8)
data = data.map(recolour, num_parallel_calls=tf.data.AUTOTUNE)
data = data.map(shrink, num_parallel_calls=tf.data.AUTOTUNE)
data = data.batch(4).prefetch(2)


@tf.function
def step(batch):
    return tf.reduce_mean(batch)


for batch in data:
    step(batch)
