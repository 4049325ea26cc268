"""A model learns from a copy of itself, which takes over its weights after each epoch."""

import keras
import tensorflow as tf


def network(name):
    layers = [keras.layers.Dense(256, activation="relu"), keras.layers.Dense(64)]
    return keras.Sequential([keras.Input((64,)), *layers], name=name)


model, target = network("model"), network("target")
data = tf.data.Dataset.from_tensor_slices(tf.random.normal((512, 64))).batch(64)


@tf.function
def step(x):
    wanted = target(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - wanted))
    variables = [variable.value for variable in model.trainable_variables]
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(0.1 * gradient)


for _ in range(3):
    for x in data:
        step(x)
    for kept, learned in zip(target.variables, model.variables):
        kept.assign(learned)
