import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
np.random.seed(1)
L = tf.keras.layers
m = (
    tf.keras.Sequential(
        [
            L.Embedding(30, 8, input_length=7),
            L.GRU(12, return_sequences=True),
            L.SimpleRNN(10),
            L.Dense(1, activation="sigmoid"),
        ]
    )
    if tf.__version__ < "2.16"
    else tf.keras.Sequential(
        [
            L.Embedding(30, 8),
            L.GRU(12, return_sequences=True),
            L.SimpleRNN(10),
            L.Dense(1, activation="sigmoid"),
        ]
    )
)
m.compile("adam", "binary_crossentropy", metrics=["accuracy"])
x = np.random.randint(0, 30, (24, 7))
y = (np.arange(24) % 2).astype("f")
m.fit(x, y, batch_size=8, epochs=1, verbose=0)
print(m.predict(x[:8], verbose=0).shape)
b = tf.keras.Sequential([L.Input((5, 3)), L.LSTM(6), L.Dense(2)])
b.compile("sgd", "mse")
b.fit(
    np.random.rand(12, 5, 3).astype("f"),
    np.random.rand(12, 2).astype("f"),
    batch_size=6,
    epochs=1,
    verbose=0,
)
print(
    b.evaluate(np.random.rand(6, 5, 3).astype("f"), np.random.rand(6, 2).astype("f"), verbose=0) > 0
)
