import numpy as np
import tensorflow as tf

weights = [tf.Variable(tf.random.normal((64, 64), stddev=0.1)) for _ in range(2)]


def scaled(x):
    return np.array([[float(v) * 2 + 1 for v in row] for row in x], np.float32)


@tf.function
def step(x):
    for w in weights:
        x = tf.nn.relu(x @ w)
    return tf.reduce_mean(x)


data = tf.data.Dataset.from_tensors(tf.ones((128, 64))).repeat(60)
for x in data.map(lambda x: tf.ensure_shape(tf.numpy_function(scaled, [x], tf.float32), (128, 64))):
    step(x)
