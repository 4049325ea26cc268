import tensorflow as tf


@tf.function
def add(x, y):
    return x + y


print(float(add(1.0, 2.0)))
