"""Losses, metrics, initializers, optimizers and layers by themselves."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(9)
k = tf.keras
rng = np.random.RandomState(0)
labels, scores = rng.randint(0, 3, 6), rng.rand(6, 3).astype("f")
one_hot = k.utils.to_categorical(labels, 3)
probabilities = (scores / scores.sum(1, keepdims=True)).astype("f")
a, b = rng.rand(6, 2).astype("f"), rng.rand(6, 2).astype("f")
binary = (a > 0.5).astype("f")
for loss, y, p in [
    (k.losses.MeanSquaredError(), a, b), (k.losses.MeanAbsoluteError(), a, b), (k.losses.Huber(), a, b),
    (k.losses.BinaryCrossentropy(), binary, b), (k.losses.BinaryCrossentropy(from_logits=True), binary, b),
    (k.losses.CategoricalCrossentropy(), one_hot, probabilities),
    (k.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), one_hot, scores),
    (k.losses.SparseCategoricalCrossentropy(), labels, probabilities),
    (k.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none"), labels, scores),
    (k.losses.LogCosh(), a, b), (k.losses.KLDivergence(), a, b), (k.losses.Hinge(), binary, b),
    (k.losses.CosineSimilarity(), a, b), (k.losses.MeanSquaredError(reduction="sum"), a, b),
]:  # fmt: skip
    print(loss.name, np.round(loss(y, p).numpy(), 5))
print(k.losses.MeanSquaredError()(a, b, sample_weight=[1, 0, 1, 0, 2, 0]))
for metric, y, p in [
    (k.metrics.Accuracy(), labels, labels[::-1]), (k.metrics.BinaryAccuracy(), binary, b),
    (k.metrics.CategoricalAccuracy(), one_hot, probabilities),
    (k.metrics.SparseCategoricalAccuracy(), labels, probabilities), (k.metrics.MeanSquaredError(), a, b),
    (k.metrics.MeanAbsoluteError(), a, b), (k.metrics.RootMeanSquaredError(), a, b),
    (k.metrics.SparseTopKCategoricalAccuracy(k=2), labels, probabilities),
]:  # fmt: skip
    metric.update_state(y[:3], p[:3])
    print(metric.name, float(metric(y[3:], p[3:])))
    metric.reset_state()
mean = k.metrics.Mean()
mean([1.0, 2.0])
mean.update_state([4.0], sample_weight=[2.0])
print(mean.result(), mean.name, [v.name for v in mean.variables])
for name in (
    "GlorotUniform",
    "GlorotNormal",
    "HeNormal",
    "Orthogonal",
    "RandomUniform",
    "RandomNormal",
    "TruncatedNormal",
):
    print(name, getattr(k.initializers, name)(seed=3)((3, 2)).numpy().round(5).tolist())
print(
    k.initializers.get("zeros")((2,)),
    k.initializers.Constant(2.0)((2,)),
    k.initializers.Identity()((2, 2)),
)
for optimizer in (
    k.optimizers.SGD(0.1), k.optimizers.SGD(0.1, momentum=0.9, nesterov=True), k.optimizers.Adam(0.1),
    k.optimizers.Adam(0.1, amsgrad=True), k.optimizers.RMSprop(0.1), k.optimizers.RMSprop(0.1, momentum=0.5, centered=True),
    k.optimizers.Adagrad(0.1), k.optimizers.AdamW(0.1), k.optimizers.SGD(0.1, clipnorm=0.5), k.optimizers.SGD(0.1, clipvalue=0.1),
):  # fmt: skip
    v = tf.Variable([1.0, -2.0, 3.0])
    for _ in range(3):
        optimizer.minimize(lambda: tf.reduce_sum(v * v * v), [v])
    print(optimizer.name, v.numpy().round(5).tolist(), len(optimizer.variables))
image = tf.constant(rng.rand(2, 5, 5, 3).astype("f"))
steps = tf.constant(rng.rand(2, 4, 3).astype("f"))
L = k.layers
for layer, value in [
    (L.Conv2D(2, 3, strides=2, padding="same"), image), (L.DepthwiseConv2D(2, depth_multiplier=2), image),
    (L.MaxPooling2D(2), image), (L.AveragePooling2D(3, 1, "same"), image), (L.GlobalAveragePooling2D(), image),
    (L.GlobalMaxPooling2D(), image), (L.GlobalAveragePooling1D(), steps), (L.Flatten(), image), (L.Reshape((3, -1)), steps),
    (L.LayerNormalization(), steps), (L.LayerNormalization(epsilon=1e-6), steps), (L.BatchNormalization(), steps),
    (L.Dense(2), steps), (L.LeakyReLU(), steps - 0.5), (L.ReLU(0.6), steps), (L.ELU(), steps - 0.5), (L.Softmax(), steps),
    (L.Activation("selu"), steps - 0.5), (L.LSTM(2), steps), (L.GRU(2, return_sequences=True), steps), (L.SimpleRNN(2), steps),
    (L.RNN(L.GRUCell(2)), steps), (L.LSTM(2, unroll=True), steps), (L.Lambda(lambda x: x * 2), steps),
    (L.Embedding(4, 2), tf.constant([[1, 3]])),
]:  # fmt: skip
    out = layer(value)
    print(layer.name, out.shape, np.round(float(tf.reduce_sum(out)), 4), len(layer.weights))
bn = L.BatchNormalization()
print(
    bn(image, training=True).shape,
    bn.moving_mean.numpy().round(5).tolist(),
    bn.moving_variance.numpy().round(5).tolist(),
)
print(
    L.Add()([steps, steps]).shape,
    L.Multiply()([steps, steps]).shape,
    L.Average()([steps, steps])[0, 0].numpy(),
)
