"""The numbers in functions' names count all that was made before: so nothing may be left out."""

import re

import tensorflow as tf

layers = tf.keras.layers
x, m = tf.TensorSpec((None, 6, 4)), tf.TensorSpec((None, 6), tf.bool)


def number(function, *specs):
    concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    return int(re.search(r"_(\d+)\W*$", str(concrete.name))[1])


def counted(function, *specs):
    """How far the count is since another function was made."""
    return number(function, *specs) - last


def made():
    return number(lambda x: x, tf.TensorSpec(()))


def with_gradient(layer):
    def step(x, m):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x, mask=m))
        return tape.gradient(loss, layer.trainable_variables)

    return step


for masked in (True, False):
    for layer in (
        layers.LSTM(3, return_sequences=True),
        layers.GRU(3),
        layers.GRU(3, go_backwards=True),
        layers.RNN(layers.LSTMCell(3)),
    ):
        layer.build((None, 6, 4))
        last = made()
        print(counted(lambda x, m: layer(x, mask=m if masked else None), x, m))
layer = layers.LSTM(3)
layer.build((None, 6, 4))
last = made()
print(counted(with_gradient(layer), x, m))
last = made()
model = tf.keras.Sequential(
    [
        layers.Input((6,)),
        layers.Embedding(9, 4, mask_zero=True),
        layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
        layers.GRU(3, go_backwards=True),
        layers.Dense(2),
    ]
)
print(counted(lambda x: model(x), tf.TensorSpec((None, 6))))
last = made()


def sums(x):
    total, n = tf.zeros((4,)), 0
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, total = tf.while_loop(
            lambda n, _: n < 3, lambda n, t: (n + 1, tf.where(t > 1.0, t * x, t + x)), (n, total)
        )
    return tape.gradient(total, x)


print(counted(sums, tf.TensorSpec((4,))))
