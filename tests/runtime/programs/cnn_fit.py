"""Convolutions, batch normalisation, pooling; SGD with momentum; a traced and an eager forward
pass.
"""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(2)
K = tf.keras.layers
m = tf.keras.Sequential([
    K.Input((10, 10, 2)), K.Conv2D(4, 3, padding="same"), K.BatchNormalization(), K.ReLU(), K.MaxPool2D(),
    K.Conv2D(6, 2, strides=2, activation="relu"), K.DepthwiseConv2D(2, activation="tanh"), K.AveragePooling2D(1),
    K.Flatten(), K.Dense(4, activation="softmax"),
])  # fmt: skip
m.compile(
    tf.keras.optimizers.SGD(0.05, momentum=0.9), "sparse_categorical_crossentropy", metrics=["acc"]
)
x = np.random.rand(18, 10, 10, 2).astype("f")
y = np.arange(18) % 4
h = m.fit(x, y, batch_size=6, epochs=2, verbose=0, shuffle=False)
print(h.history)
f = tf.function(lambda z: m(z, training=False))
r = f(tf.constant(x[:4]))
print(r)
print(float(tf.reduce_max(tf.abs(r - m(tf.constant(x[:4]), training=False)))) < 1e-6)
for w in m.weights:
    print(
        w.name, w.shape, "trainable" if w.trainable else "fixed", round(float(tf.reduce_sum(w)), 4)
    )
