"""Layers that compute in bfloat16, with weights in float32: called, and trained in a function."""

import tensorflow as tf

tf.keras.utils.set_random_seed(4)
K = tf.keras
K.mixed_precision.set_global_policy("mixed_bfloat16")
m = K.Sequential(
    [
        K.Input((6, 6, 2)),
        K.layers.Conv2D(3, 3, activation="relu"),
        K.layers.BatchNormalization(),
        K.layers.Dropout(0.1),
        K.layers.Flatten(),
        K.layers.LayerNormalization(),
        K.layers.Dense(4, activation="tanh"),
        K.layers.Dense(2, dtype="float32"),
    ]
)
x = tf.ones((2, 6, 6, 2))
print(m(x).dtype, m.layers[0](x).dtype, m.layers[0].compute_dtype, m.layers[0].dtype)
print(m.layers[0].kernel.dtype, K.mixed_precision.global_policy())


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(m(x, training=True))
    return tape.gradient(loss, m.trainable_variables)


print([each.dtype.name for each in step(x)])
print(len(tf.function(step, autograph=False).get_concrete_function(x).outputs))
