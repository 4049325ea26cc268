"""A generator asks for eager ops, for each of its elements: the loop waits for it."""

import tensorflow as tf


def images():
    for seed in range(12):
        picture = tf.random.stateless_uniform([96, 96, 3], [seed, 0])
        for _ in range(6):
            picture = tf.image.resize(picture, [90, 90])
            picture = tf.image.adjust_contrast(picture, 1.1)
        yield picture.numpy()


@tf.function
def step(picture):
    return tf.reduce_mean(picture)


data = tf.data.Dataset.from_generator(images, output_signature=tf.TensorSpec([90, 90, 3]))
for picture in data:
    step(picture)
