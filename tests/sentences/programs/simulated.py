import tensorflow as tf


@tf.function
def scaled(x, factor):
    return tf.matmul(x, x) * factor


x = tf.ones((8, 8))
for factor in range(6):
    scaled(x, factor)
    tf.reduce_mean(tf.square(x))
