import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)
x = np.random.rand(32, 12, 12, 1).astype("float32")
y = (x.mean(axis=(1, 2, 3)) > 0.5).astype("int32")
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, activation="relu", input_shape=(12, 12, 1)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dropout(0.25),
        tf.keras.layers.Dense(2, activation="softmax"),
    ]
)
model.compile(
    optimizer=tf.keras.optimizers.Adam(0.01),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.summary()
h = model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False)
print({k: np.round(v, 3).tolist() for k, v in h.history.items()})
print(model.evaluate(x, y, verbose=0))
print(model.predict(x[:3], verbose=0).round(3))
