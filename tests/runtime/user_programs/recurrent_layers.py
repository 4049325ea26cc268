"""Recurrent layers, their wrappers, masks and states."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
x = tf.random.stateless_normal([4, 6, 3], [3, 4])
for L in (tf.keras.layers.LSTM, tf.keras.layers.GRU, tf.keras.layers.SimpleRNN):
    tf.keras.utils.set_random_seed(3)
    l = L(5)
    print(l(x)[0].numpy())
    print([(w.name, w.shape) for w in l.weights])
    l = L(5, return_sequences=True, return_state=True)
    o = l(x)
    print([t.shape for t in o])

tf.keras.utils.set_random_seed(3)
b = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(3, return_sequences=True))
o = b(x)
print(o.shape, o[0, 0].numpy())
print([w.name for w in b.weights])

tf.keras.utils.set_random_seed(3)
b = tf.keras.layers.Bidirectional(tf.keras.layers.GRU(3), merge_mode="sum")
print(b(x)[0].numpy())

tf.keras.utils.set_random_seed(3)
m = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(20, 8, mask_zero=True, input_length=5),
        tf.keras.layers.LSTM(4),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)
m.compile(
    tf.keras.optimizers.Adam(0.01),
    "binary_crossentropy",
    metrics=[
        "accuracy",
        tf.keras.metrics.AUC(name="auc"),
        tf.keras.metrics.Precision(),
        tf.keras.metrics.Recall(),
    ],
)
d = np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0], [6, 7, 8, 9, 1], [2, 3, 0, 0, 0]])
y = np.array([0, 1, 0, 1])
h = m.fit(d, y, epochs=3, verbose=2, shuffle=False)
print(m.evaluate(d, y, verbose=0, return_dict=True))
m.summary()

tf.keras.utils.set_random_seed(3)
l = tf.keras.layers.GRU(4, return_sequences=True, go_backwards=True, reset_after=False)
print(l(x)[0, :2].numpy())

tf.keras.utils.set_random_seed(3)
l = tf.keras.layers.LSTM(4, stateful=True)
xx = tf.ones([2, 3, 1])
print(l(xx)[0].numpy(), l(xx)[0].numpy())
l.reset_states()
print(l(xx)[0].numpy())

tf.keras.utils.set_random_seed(3)
cell = tf.keras.layers.StackedRNNCells([tf.keras.layers.LSTMCell(3), tf.keras.layers.GRUCell(2)])
l = tf.keras.layers.RNN(cell, return_sequences=True)
print(l(x)[0, 0].numpy())


class MinimalCell(tf.keras.layers.Layer):
    def __init__(self, units, **k):
        super().__init__(**k)
        self.units = units
        self.state_size = units

    def build(self, s):
        self.k = self.add_weight(shape=(s[-1], self.units), initializer="ones", name="k")
        self.r = self.add_weight(shape=(self.units, self.units), initializer="ones", name="r")

    def call(self, i, states):
        o = tf.tanh(tf.matmul(i, self.k) * 0.1 + tf.matmul(states[0], self.r) * 0.1)
        return o, [o]


print(tf.keras.layers.RNN(MinimalCell(3))(x)[0].numpy())

tf.keras.utils.set_random_seed(3)
ei = tf.keras.Input((None, 4))
_, h, c = tf.keras.layers.LSTM(5, return_state=True)(ei)
di = tf.keras.Input((None, 4))
o = tf.keras.layers.LSTM(5, return_sequences=True)(di, initial_state=[h, c])
o = tf.keras.layers.Dense(4, activation="softmax")(o)
m = tf.keras.Model([ei, di], o)
m.compile("rmsprop", "categorical_crossentropy")
a = tf.random.stateless_uniform([4, 3, 4], [1, 1])
b = tf.one_hot(tf.constant([[0, 1], [2, 3], [1, 1], [0, 3]]), 4)
print(m.fit([a, b], b, epochs=2, verbose=0).history)
m.summary()
