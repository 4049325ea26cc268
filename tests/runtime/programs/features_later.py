"""`Normalization` given and adapted, a rate that warms up, windows that do not fit, shapes of
arrays.
"""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(5)
layers = tf.keras.layers
data = np.random.default_rng(0).random((6, 3)).astype("float32")

given = (
    layers.Normalization(mean=2.0, variance=4.0),
    layers.Normalization(mean=[1, 2, 3], variance=[4, 4, 9]),
    layers.Normalization(axis=None, mean=1.0, variance=2.0, invert=True),
)
adapted = layers.Normalization(), layers.Normalization(axis=None, invert=True)
for layer in adapted:
    layer.adapt(data)
batches = tf.data.Dataset.from_tensor_slices((data, data[:, 0])).batch(4)
for source in (tf.constant(data), batches, [data[:2], data[2:]], data.astype("float64")):
    adapted[0].adapt(source)
    print(np.round(adapted[0].mean.numpy(), 3))
single = layers.Normalization(axis=None)
single.adapt(tf.data.Dataset.from_tensor_slices(data[:, 0]))

for layer in (*given, *adapted):
    print(layer.name, np.round(layer(data)[0].numpy(), 2))
    for dtype in ("float32", "int32"):
        spec = tf.TensorSpec([None, 3], dtype)
        tf.function(layer, autograph=False).get_concrete_function(spec)

inputs = tf.keras.Input((3,))
hidden = layers.Normalization(mean=0.5, variance=0.1)(inputs)
model = tf.keras.Model(inputs, layers.Dense(1)(hidden))
schedule = tf.keras.optimizers.schedules.CosineDecay(
    1e-3, 4, alpha=0.1, warmup_target=2e-3, warmup_steps=2
)
print([round(float(schedule(step)), 6) for step in range(7)])
tf.function(schedule, autograph=False).get_concrete_function(tf.TensorSpec([], tf.int64))
model.compile(tf.keras.optimizers.SGD(schedule), "mse")
model.fit(data, data[:, :1], batch_size=3, epochs=2, verbose=0)

for layer, shape in (
    (layers.Conv2D(3, 3), [1, 2, 2, 1]), (layers.Conv1D(2, 2, dilation_rate=3), [1, 3, 1]),
    (layers.DepthwiseConv2D(3), [1, 2, 4, 2]), (layers.SeparableConv2D(2, 3), [1, 2, 4, 1]),
):  # fmt: skip
    try:
        layer(tf.ones(shape))
    except ValueError as error:
        print(error)
print(tf.keras.ops.shape(data), tf.keras.ops.shape([[1, 2]]))
