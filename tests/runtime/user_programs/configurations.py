"""What layers, models and the like were made with, and how they are made again."""

import numpy as np
import tensorflow as tf


def show(label, result):
    print(label)
    try:
        print(result())
    except Exception as error:
        print(type(error).__name__, str(error)[:200])


K = tf.keras
L = K.layers
for f in [
    lambda: L.Dense(3, activation="relu", kernel_regularizer=K.regularizers.L2(0.1), name="x"),
    lambda: L.Conv2D(3, 2, padding="same", name="x"),
    lambda: L.Flatten(name="x"),
    lambda: L.Dropout(0.3, seed=2, name="x"),
    lambda: L.BatchNormalization(name="x"),
    lambda: L.LayerNormalization(name="x"),
    lambda: L.Embedding(3, 2, name="x"),
    lambda: L.LSTM(3, name="x"),
    lambda: L.GRU(2, name="x"),
    lambda: L.SimpleRNN(2, name="x"),
    lambda: L.MaxPooling2D(name="x"),
    lambda: L.AveragePooling1D(name="x"),
    lambda: L.GlobalAveragePooling2D(name="x"),
    lambda: L.Activation("relu", name="x"),
    lambda: L.ReLU(6.0, name="x"),
    lambda: L.LeakyReLU(name="x"),
    lambda: L.Softmax(name="x"),
    lambda: L.Reshape((2, 2), name="x"),
    lambda: L.Permute((2, 1), name="x"),
    lambda: L.RepeatVector(2, name="x"),
    lambda: L.InputLayer((3,), name="x"),
    lambda: L.Add(name="x"),
    lambda: L.Concatenate(name="x"),
    lambda: L.Dot(1, name="x"),
    lambda: L.ZeroPadding2D(name="x"),
    lambda: L.UpSampling2D(name="x"),
    lambda: L.Rescaling(0.5, name="x"),
    lambda: L.GaussianNoise(0.1, name="x"),
    lambda: L.MultiHeadAttention(2, 3, name="x"),
    lambda: L.Bidirectional(L.LSTM(2, name="y"), name="x"),
    lambda: L.TimeDistributed(L.Dense(2, name="y"), name="x"),
    lambda: L.Masking(name="x"),
    lambda: L.Attention(name="x"),
    lambda: L.Conv1D(2, 2, name="x"),
    lambda: L.DepthwiseConv2D(2, name="x"),
    lambda: L.SeparableConv2D(2, 2, name="x"),
    lambda: L.Conv2DTranspose(2, 2, name="x"),
    lambda: L.ELU(name="x"),
    lambda: L.PReLU(name="x"),
    lambda: L.LSTMCell(2, name="x"),
    lambda: L.Layer(name="x"),
]:
    try:
        n = f().__class__.__name__
    except Exception:
        n = "bad"
    show("cfg " + n, lambda: f().get_config())
    show("round " + n, lambda: type(f()).from_config(f().get_config()).name)
    show("serialize " + n, lambda: K.layers.serialize(f())["class_name"])
for f in [
    lambda: K.initializers.GlorotUniform(seed=1),
    lambda: K.initializers.RandomNormal(0.0, 0.1),
    lambda: K.initializers.Constant(2.0),
    lambda: K.initializers.Zeros(),
    lambda: K.initializers.VarianceScaling(),
    lambda: K.initializers.Orthogonal(),
    lambda: K.initializers.HeNormal(),
    lambda: K.regularizers.L1L2(0.1, 0.2),
    lambda: K.constraints.MaxNorm(3),
    lambda: K.losses.MeanSquaredError(),
    lambda: K.metrics.MeanSquaredError(),
    lambda: K.metrics.AUC(),
    lambda: K.optimizers.RMSprop(),
    lambda: K.optimizers.schedules.CosineDecay(0.1, 5),
]:
    show("cfg " + f().__class__.__name__, lambda: f().get_config())
m = K.Sequential(
    [L.Dense(2, input_shape=(3,), name="d1"), L.Dropout(0.5, name="dr"), L.Dense(1, name="d2")],
    name="s",
)
show(
    "clone weights",
    lambda: (
        lambda c: (
            c.set_weights(m.get_weights()),
            np.allclose(c(np.ones((1, 3))), m(np.ones((1, 3)))),
        )
    )(K.models.clone_model(m)),
)
show("json", lambda: m.to_json()[:300])
show("from_json", lambda: K.models.model_from_json(m.to_json()).count_params())
show(
    "clone fn",
    lambda: [
        l.name
        for l in K.models.clone_model(
            m, clone_function=lambda l: l.__class__.from_config(l.get_config())
        ).layers
    ],
)
show(
    "layer from dict", lambda: L.deserialize({"class_name": "Dense", "config": {"units": 4}}).units
)
