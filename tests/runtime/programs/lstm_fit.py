"""Embedding with a mask, LSTM, GRU, an RNN of a cell; RMSprop."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
K = tf.keras.layers
m = tf.keras.Sequential([
    K.Input((5,)), K.Embedding(20, 6, mask_zero=True), K.LSTM(7, return_sequences=True), K.RNN(K.LSTMCell(5)), K.Dense(3),
])  # fmt: skip
m.compile("rmsprop", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x = np.random.randint(1, 20, (12, 5))
x[:, 3:] = 0
y = np.arange(12) % 3
h = m.fit(x, y, batch_size=4, epochs=2, verbose=0)
print(h.history)
print(m.predict(x[:2], verbose=0))
print([w.name for w in m.weights])
g = tf.keras.Sequential([K.GRU(4, input_shape=(3, 2)), K.Dense(1)])
g.compile("sgd", "mse")
z = np.random.rand(8, 3, 2).astype("f")
print(g.fit(z, z.sum((1, 2)), epochs=2, verbose=0).history)
print(g(tf.constant(z[:2])))
s = K.LSTM(3, return_sequences=True, return_state=True, go_backwards=True)
out, h1, c1 = s(tf.constant(z[:2]))
print(out.shape, h1, c1)
