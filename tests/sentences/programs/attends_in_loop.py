"""Three epochs of a decoder, whose attention projects the same regions in each turn of its loop."""

import keras
import tensorflow as tf

keys, query, score = keras.layers.Dense(64), keras.layers.Dense(64), keras.layers.Dense(1)
cell = keras.layers.GRUCell(32)
keys.build((8, 16, 256)), query.build((8, 32)), score.build((8, 16, 64)), cell.build((8, 256))
variables = [v for layer in (keys, query, score, cell) for v in layer.trainable_variables]


@tf.function
def step(regions, targets):
    with tf.GradientTape() as tape:
        state = tf.zeros((8, 32))
        for _ in tf.range(4):
            hidden = tf.tanh(keys(regions) + query(state)[:, None])
            context = tf.reduce_sum(tf.nn.softmax(score(hidden), axis=1) * regions, axis=1)
            state, _ = cell(context, [state])
        loss = tf.reduce_mean((state - targets) ** 2)
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.1 * gradient)


data = tf.data.Dataset.from_tensor_slices(
    (tf.random.normal((16, 16, 256)), tf.random.normal((16, 32)))
).batch(8)
for _ in range(3):
    for batch in data:
        step(*batch)
