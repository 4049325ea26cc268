import numpy as np, tensorflow as tf

x = np.random.rand(48, 4).astype("float32")
y = np.random.randint(0, 3, 48)
m = tf.keras.Sequential(
    [
        tf.keras.layers.Input((4,)),
        tf.keras.layers.Dense(8, activation="relu"),
        tf.keras.layers.Dense(3, activation="softmax"),
    ]
)
m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
m.fit(x, y, epochs=2, batch_size=16, verbose=0)
tf.config.run_functions_eagerly(True)
m.compile(
    "sgd",
    "sparse_categorical_crossentropy",
    metrics=["accuracy", tf.keras.metrics.SparseTopKCategoricalAccuracy(2)],
)
m.fit(x, y, epochs=2, batch_size=16, verbose=0, validation_data=(x[:16], y[:16]))
print(m.predict(x[:16], batch_size=8, verbose=0).shape, m.evaluate(x, y, verbose=0, batch_size=16))
tf.config.run_functions_eagerly(False)
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
m.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
m.fit(ds, epochs=2, verbose=0)
print(m.predict(ds, verbose=0).shape)
