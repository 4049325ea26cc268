"""A training loop that saves after each fourth step, from a thread of TensorFlow's own."""

import tempfile

import tensorflow as tf

weights = tf.Variable(tf.random.normal((256, 256)))
checkpoint = tf.train.Checkpoint(weights=weights)
options = tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)
folder = tempfile.mkdtemp()


@tf.function
def step():
    product = weights
    for _ in range(24):
        product = tf.matmul(product, weights) / 256.0
    weights.assign_sub(1e-6 * product)


for number in range(1, 25):
    step()
    if number % 4 == 0:
        checkpoint.save(f"{folder}/checkpoint", options=options)
