"""`RandomFlip`, eagerly, traced, in a model and in a pipeline."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(6)
layers = tf.keras.layers
images = np.arange(24, dtype="float32").reshape(4, 2, 3, 1)

for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
    layer = layers.RandomFlip(mode, seed=3)
    print(layer.name, layer(images).numpy()[:, 0, 0, 0], layer(tf.constant(images[0])).shape)
    print(layer(images.astype("uint8"), training=False).dtype.name)
    for shape, dtype in (([None, 2, 3, 1], "float32"), ([2, 3, 1], "int32")):
        spec = tf.TensorSpec(shape, dtype)
        tf.function(layer, autograph=False).get_concrete_function(spec)

flip = layers.RandomFlip(seed=4)
batches = tf.data.Dataset.from_tensor_slices(images).batch(2).map(lambda x: flip(x))
print([batch.shape for batch in batches])

model = tf.keras.Sequential(
    [tf.keras.Input((2, 3, 1)), layers.RandomFlip("horizontal"), layers.Flatten(), layers.Dense(1)]
)
model.compile("sgd", "mse")
model.fit(images, np.ones(4), batch_size=2, verbose=0)
print(model.predict(images, verbose=0).shape)
