import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
np.random.seed(1)
L = tf.keras.layers
m = tf.keras.Sequential(
    [
        L.Conv2D(8, 3, strides=2, padding="same", use_bias=False, input_shape=(20, 20, 1)),
        L.BatchNormalization(),
        L.Activation("relu"),
        L.Conv2D(12, 3, activation="relu"),
        L.MaxPooling2D(2),
        L.Dropout(0.25),
        L.Conv2D(16, 3, padding="same"),
        L.GlobalAveragePooling2D(),
        L.Dense(20, activation="elu"),
        L.Dense(5, activation="softmax"),
    ]
)
m.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
x = np.random.rand(40, 20, 20, 1).astype("f")
y = np.eye(5, dtype="f")[np.arange(40) % 5]
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(40).batch(10)
m.fit(ds, epochs=2, verbose=2)
print(m.predict(x[:4], verbose=0).shape)
c = tf.keras.Sequential(
    [
        L.Conv2D(6, 3, strides=2, activation="relu", input_shape=(12, 12, 3)),
        L.AveragePooling2D(2),
        L.Flatten(),
        L.Dense(2),
    ]
)
c.compile(
    "adam",
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["sparse_categorical_accuracy"],
)
c.fit(np.random.rand(16, 12, 12, 3).astype("f"), np.arange(16) % 2, batch_size=8, verbose=0)
