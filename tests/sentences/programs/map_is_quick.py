import numpy as np
import tensorflow as tf

weights = [tf.Variable(tf.random.normal((512, 512), stddev=0.1)) for _ in range(4)]


def scaled(x):
    return x * np.float32(2) + np.float32(1)


@tf.function
def step(x):
    for w in weights:
        x = tf.nn.relu(x @ w)
    return tf.reduce_mean(x)


data = tf.data.Dataset.from_tensors(tf.ones((256, 512))).repeat(60)
for x in data.map(lambda x: tf.ensure_shape(tf.numpy_function(scaled, [x], tf.float32), (256, 512))):
    step(x)
