"""A transformer block: MultiHeadAttention, a layer of layers, functions of `tf` on Keras tensors."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(4)
K = tf.keras.layers


class Block(K.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.attention = K.MultiHeadAttention(heads, width // heads)
        self.norms = [K.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        self.feed = tf.keras.Sequential([K.Dense(8, activation="gelu"), K.Dense(width)])
        self.dropout = K.Dropout(0.1)

    def call(self, x, training=False):
        attended = self.attention(x, x, use_causal_mask=True)
        x = self.norms[0](x + self.dropout(attended, training=training))
        return self.norms[1](x + self.feed(x))


tokens = tf.keras.Input((6,), dtype="int32")
x = K.Embedding(30, 8)(tokens) + K.Embedding(6, 8)(tf.range(6))
x = Block(8, 2)(x)
x = tf.concat([tf.reduce_mean(x, axis=1), tf.nn.relu(x[:, 0]) * 0.5], axis=-1)
m = tf.keras.Model(tokens, K.Dense(2)(x))
m.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
a = np.random.randint(0, 30, (12, 6))
print(
    m.fit(a, a[:, 0] % 2, batch_size=6, epochs=2, verbose=0, class_weight={0: 1.0, 1: 2.0}).history
)
m.summary()
print(m.predict(a[:2], verbose=0))
