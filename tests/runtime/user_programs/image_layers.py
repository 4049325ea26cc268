"""Layers for images and sequences, one after the other."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)
x = tf.random.stateless_uniform([8, 12, 12, 3], [1, 2])
y = tf.constant([0, 1, 2, 0, 1, 2, 0, 1])
m = tf.keras.Sequential(
    [
        tf.keras.layers.ZeroPadding2D(1, input_shape=(12, 12, 3)),
        tf.keras.layers.Conv2D(4, 3, activation="relu"),
        tf.keras.layers.SeparableConv2D(6, 3, padding="same"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Activation("swish"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.DepthwiseConv2D(3),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(3, activation="softmax"),
    ]
)
m.summary()
m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
h = m.fit(x, y, epochs=2, batch_size=4, verbose=0, shuffle=False)
print(h.history)
print(m.predict(x, verbose=0)[:2])

l = tf.keras.layers.SeparableConv2D(
    6, 3, padding="same", depthwise_initializer="ones", pointwise_initializer="ones"
)
print(l(x)[0, 0, 0], [w.name for w in l.weights], [w.shape for w in l.weights])

l = tf.keras.layers.Conv2DTranspose(2, 3, strides=2, padding="same", kernel_initializer="ones")
print(l(x).shape, float(tf.reduce_sum(l(x))))
print(tf.keras.layers.UpSampling2D(2)(x).shape)
print(tf.keras.layers.Cropping2D(((1, 2), (0, 1)))(x).shape)

s = tf.random.stateless_uniform([2, 10, 3], [1, 2])
print(tf.keras.layers.Conv1D(4, 3, padding="causal", kernel_initializer="ones")(s)[0, :3].numpy())
print(
    tf.keras.layers.MaxPooling1D(2)(s).shape,
    tf.keras.layers.GlobalMaxPooling1D()(s).numpy(),
    tf.keras.layers.AveragePooling1D(2)(s)[0, 0].numpy(),
    tf.keras.layers.GlobalAveragePooling1D()(s)[0].numpy(),
)

print(tf.keras.layers.ZeroPadding1D(1)(s).shape)
print(tf.keras.layers.UpSampling1D(2)(s).shape)

print(tf.keras.layers.Conv2D(2, 3, dilation_rate=2, kernel_initializer="ones")(x)[0, 0, 0].numpy())

print(tf.keras.layers.Conv2D(6, 3, groups=3, kernel_initializer="ones")(x)[0, 0, 0].numpy())

print(
    tf.keras.layers.Conv2D(
        2, (3, 1), strides=(2, 1), padding="same", use_bias=False, kernel_initializer="ones"
    )(x).shape
)

print(
    tf.keras.layers.PReLU()(tf.constant([[-1.0, 2.0]])),
    tf.keras.layers.ELU()(tf.constant([[-1.0, 2.0]])),
    tf.keras.layers.Softmax()(tf.constant([[-1.0, 2.0]])),
    tf.keras.layers.ReLU(max_value=1.0)(tf.constant([[-1.0, 2.0]])),
    tf.keras.layers.ThresholdedReLU(1.0)(tf.constant([[0.5, 2.0]])),
)

print(
    tf.keras.layers.GaussianNoise(0.1)(tf.ones([2, 2])),
    tf.keras.layers.SpatialDropout1D(0.5)(tf.ones([1, 2, 2])),
    tf.keras.layers.GaussianDropout(0.5)(tf.ones([1, 2])),
)

print(
    tf.keras.layers.RepeatVector(3)(tf.constant([[1.0, 2.0]])),
    tf.keras.layers.Permute((2, 1))(tf.ones([2, 3, 4])).shape,
    tf.keras.layers.Reshape((-1, 2))(tf.ones([2, 3, 4])).shape,
    tf.keras.layers.Masking()(tf.constant([[[0.0, 0.0], [1.0, 0.0]]])),
)

print(
    tf.keras.layers.Dot(axes=1)([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]),
    tf.keras.layers.Average()([tf.ones([1, 2]), tf.zeros([1, 2])]),
    tf.keras.layers.Maximum()([tf.ones([1, 2]), tf.zeros([1, 2])]),
    tf.keras.layers.Subtract()([tf.ones([1, 2]), tf.zeros([1, 2])]),
    tf.keras.layers.Multiply()([tf.ones([1, 2]), tf.zeros([1, 2])]),
)

print(
    tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(2, kernel_initializer="ones"))(
        tf.ones([2, 3, 4])
    ).numpy()
)

print(
    tf.keras.layers.Lambda(lambda t: t * 2)(tf.ones([2])),
    tf.keras.layers.Rescaling(1.0 / 255)(tf.constant([255.0])),
    tf.keras.layers.Normalization(mean=1.0, variance=4.0)(tf.constant([[3.0]])),
)

n = tf.keras.layers.Normalization()
n.adapt(np.array([[1.0], [2.0], [3.0]], "float32"))
print(n(np.array([[2.0], [3.0]], "float32")))
