"""A function loops over a dataset and trains, an epoch each time it is called."""

import tensorflow as tf

weights = tf.Variable(tf.random.normal((256, 256), stddev=0.06))
data = tf.data.Dataset.from_tensor_slices(tf.random.normal((1024, 256))).batch(64)


@tf.function
def epoch(data):
    for x in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ weights)))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))


for _ in range(3):
    epoch(data)
