"""Layers that compute in bfloat16 and keep their weights in float32."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
policies = tf.keras.mixed_precision
layers = tf.keras.layers
print(policies.global_policy(), policies.Policy("float64").variable_dtype)
policies.set_global_policy("mixed_bfloat16")
print(policies.global_policy(), policies.global_policy().name)
dense = layers.Dense(4, activation="relu")
x = tf.constant(np.linspace(-1, 1, 12).reshape(3, 4), tf.float32)
print(dense(x).dtype, dense.dtype, dense.compute_dtype, dense.variable_dtype, dense.dtype_policy)
print(type(dense.kernel).__name__, dense.kernel.dtype, repr(dense.kernel).partition(", numpy")[0])
print(dense.get_config()["dtype"])


class Scaled(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight("w", (shape[-1], 2))
        self.b = self.add_weight("b", (2,), dtype="float32")

    def call(self, inputs):
        print(inputs.dtype, self.w.dtype, type(self.w).__name__, (self.w + 1).dtype)
        return tf.matmul(inputs, self.w) + self.b


print(Scaled()(x).dtype, Scaled(dtype="float32")(x).dtype)
inputs = tf.keras.Input((8, 8, 3))
h = layers.Conv2D(4, 3, activation="relu")(inputs)
h = layers.BatchNormalization()(h)
h = layers.Flatten()(layers.MaxPooling2D()(h))
h = layers.BatchNormalization()(layers.LayerNormalization()(h))
h = layers.Dense(8, "gelu")(h)
outputs = layers.Dense(3, activation="softmax", dtype="float32")(h)
model = tf.keras.Model(inputs, outputs)
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
print([layer.output.dtype.name for layer in model.layers])
print({v.name.split("/")[-1]: type(v).__name__ for v in model.variables})
images = np.random.rand(8, 8, 8, 3).astype("float32")
history = model.fit(images, np.arange(8) % 3, batch_size=8, epochs=2, verbose=0)
print([round(loss, 2) for loss in history.history["loss"]])
print(model.predict(images[:2], verbose=0).shape, model.trainable_variables[0].dtype)
recurrent = layers.LSTM(4)(tf.ones([2, 3, 4]))
print(recurrent.dtype, layers.Embedding(5, 2)(tf.constant([1, 2])).dtype)
policies.set_global_policy("float32")
print(layers.Dense(2).dtype_policy, tf.constant([1 / 3, 12345.0], tf.bfloat16))
try:
    policies.set_global_policy("int32")
except ValueError as error:
    print(error)
try:
    policies.Policy("half_precise")
except ValueError as error:
    print(error)
