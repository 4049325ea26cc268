"""Models made again from their configurations: names of weights, and which numbers they start with."""

import numpy as np
import tensorflow as tf

K = tf.keras
L = K.layers
K.utils.set_random_seed(12)


class CustomDense(L.Layer):
    def __init__(self, units=32, **k):
        super().__init__(**k)
        self.units = units

    def build(self, s):
        self.w = self.add_weight(
            "w", shape=(s[-1], self.units), initializer="random_normal", trainable=True
        )
        self.b = self.add_weight(
            "b", shape=(self.units,), initializer="random_normal", trainable=True
        )

    def call(self, x):
        return tf.matmul(x, self.w) + self.b

    def get_config(self):
        return {**super().get_config(), "units": self.units}


m = K.Sequential(
    [
        L.Dense(2, input_shape=(3,), name="a"),
        L.BatchNormalization(name="bn"),
        CustomDense(2, name="c"),
        L.Dense(1, name="b"),
    ],
    name="s",
)
n = K.Sequential.from_config(m.get_config(), custom_objects={"CustomDense": CustomDense})
print([(w.name, round(float(tf.reduce_sum(w)), 4)) for w in n.weights])
i = K.Input((3,), name="i")
h = L.Dense(2, name="h")(i)
o = L.Dense(1, name="o")(L.concatenate([h, L.Dense(2, name="g")(i)], name="cc"))
f = K.Model.from_config(K.Model(i, o, name="f").get_config())
print([(w.name, round(float(tf.reduce_sum(w)), 4)) for w in f.weights])
j = K.models.model_from_json(K.Model(i, o, name="f").to_json())
print([(w.name, round(float(tf.reduce_sum(w)), 4)) for w in j.weights])
c = K.models.clone_model(m)
print([(w.name, round(float(tf.reduce_sum(w)), 4)) for w in c.weights])

q = K.Input((2,), name="q")
ops = K.Model(q, tf.concat([q, tf.square(q) + 2 * q, 1.0 - q, 3 / (q + 4)], 1), name="ops")
print([layer.name for layer in ops.layers])
again = K.Model.from_config(ops.get_config())
print(again(tf.ones([1, 2])), [layer.name for layer in again.layers])
words, tags = K.Input((None,), name="words"), K.Input((3,), name="tags")
joined = L.concatenate([L.GlobalAveragePooling1D()(L.Embedding(5, 2)(words)), tags])
both = K.Model([words, tags], L.Dense(1, name="out")(joined))
named = {"words": np.array([[1, 2], [3, 4]]), "tags": np.ones((2, 3), "float32")}
print(both(named), both.predict(named, verbose=0))
both.compile("sgd", "mse")
print(both.fit(named, {"out": np.ones((2, 1))}, epochs=2, verbose=0, shuffle=False).history)
