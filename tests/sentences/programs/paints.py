"""Moves an image towards the features of another: these are computed in each `step`, or `before`.

With `variable` they are those of a variable that nothing updates; with `updates` something does.
"""

import sys

import keras
import tensorflow as tf

features = keras.Sequential([keras.layers.Conv2D(16, 3, activation="relu") for _ in range(3)])
features.build((1, 64, 64, 3))
wanted = tf.random.stateless_uniform((2, 64, 64, 3), (1, 2))
if sys.argv[1] in ("variable", "updates"):
    wanted = tf.Variable(wanted, trainable=False)
image = tf.Variable(tf.random.stateless_uniform((1, 64, 64, 3), (3, 4)))
known = features(wanted)


@tf.function
def step():
    goal = known if sys.argv[1] == "before" else features(wanted)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((features(image) - tf.reduce_mean(goal, axis=0)) ** 2)
    image.assign_sub(0.1 * tape.gradient(loss, image))
    if sys.argv[1] == "updates":
        wanted.assign(wanted * 0.99)
    return loss


for _ in range(20):
    step()
