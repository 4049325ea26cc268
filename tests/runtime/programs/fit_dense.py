import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
np.random.seed(1)
i1 = tf.keras.Input((10,))
i2 = tf.keras.Input((4,))
h = tf.keras.layers.Dense(32, activation="tanh")(i1)
g = tf.keras.layers.Dense(32)(i2)
c = tf.keras.layers.Concatenate()([h, g])
c = tf.keras.layers.BatchNormalization()(c)
c = tf.keras.layers.Activation("relu")(c)
o = tf.keras.layers.Dense(1, activation="sigmoid")(c)
m = tf.keras.Model([i1, i2], o)
m.compile(
    optimizer=tf.keras.optimizers.SGD(0.1, momentum=0.9),
    loss="binary_crossentropy",
    metrics=["accuracy"],
)
x1 = np.random.rand(96, 10).astype("f")
x2 = np.random.rand(96, 4).astype("f")
y = (x1.sum(1) > 5).astype("f")[:, None]
m.fit([x1, x2], y, batch_size=32, epochs=2, verbose=0, validation_data=([x1, x2], y))
print(len(m.evaluate([x1, x2], y, verbose=0)))
print(m.predict([x1[:20], x2[:20]], verbose=0).shape)
r = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(
            8,
            activation="relu",
            input_shape=(10,),
        ),
        tf.keras.layers.Dense(1),
    ]
)
r.compile("rmsprop", "mse", metrics=["mae"])
r.fit(x1, y, epochs=1, verbose=0)
print(r.predict(x1[:3], verbose=0).shape, r.count_params())
