"""The functional API: two inputs, merging, operators, two outputs with weights, a summary."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(4)
a, b = keras.Input((4,), name="left"), keras.Input((3,), name="right")
h = layers.Concatenate()([layers.Dense(5, activation="tanh")(a), layers.Dense(2)(b)])
h = layers.Dense(7, activation="gelu", name="hidden")(h)
s = layers.Add()([h, layers.Dense(7)(a)]) * 0.5
p = layers.Dense(1, activation="sigmoid", name="p")(s)
q = layers.Dense(2, name="q")(layers.Reshape((7,))(s))
m = keras.Model([a, b], [p, q])
m.summary()
m.compile(
    keras.optimizers.Adam(0.01),
    {"p": "binary_crossentropy", "q": "mse"},
    loss_weights={"p": 1.0, "q": 0.5},
    metrics={"p": ["accuracy"], "q": ["mae"]},
)
x = [np.random.rand(10, 4).astype("f"), np.random.rand(10, 3).astype("f")]
y = [np.arange(10) % 2, np.random.rand(10, 2).astype("f")]
history = m.fit(x, y, epochs=2, batch_size=5, verbose=0, shuffle=False)
for name, values in history.history.items():
    print(name, values)
print(m.evaluate(x, y, verbose=0, return_dict=True))
print([r.shape for r in m.predict({"left": x[0], "right": x[1]}, verbose=0)])
print(m.get_layer("hidden").get_weights()[0].shape, len(m.trainable_variables), m.count_params())
