"""Layers of sequences and metrics that count: attention, both directions, each step, several
cells.
"""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(9)
K = tf.keras.layers
x = np.random.rand(8, 3, 4).astype("float32")
q = tf.constant(x)
attention = K.MultiHeadAttention(2, 2, dropout=0.1)
print(attention(q, q, use_causal_mask=True, return_attention_scores=True)[1].shape)
print(attention(q, q, attention_mask=tf.ones((8, 3, 3), tf.bool)).shape)
top = tf.keras.metrics.SparseTopKCategoricalAccuracy(k=2)
top.update_state([0, 1], [[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]])
score = tf.keras.metrics.F1Score(average="macro")
score.update_state([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.6, 0.4]])
print(top.result().numpy(), score.result().numpy())

inputs = tf.keras.Input((3, 4))
h = K.Rescaling(2.0, offset=-1.0)(inputs)
h = K.Bidirectional(K.LSTM(2, return_sequences=True))(h)
h = K.Add()([h, K.MultiHeadAttention(2, 2)(h, h)])
h = K.TimeDistributed(K.Dense(3))(h)
h = K.RNN([K.GRUCell(2), K.SimpleRNNCell(2)])(h)
model = tf.keras.Model(inputs, K.Dense(1, activation="sigmoid")(h))
metrics = [tf.keras.metrics.AUC(), tf.keras.metrics.Precision(thresholds=[0.3, 0.6])]
model.compile("sgd", "binary_crossentropy", metrics=metrics)
model.fit(x, np.arange(8).reshape(8, 1) % 2, batch_size=4, verbose=0)
