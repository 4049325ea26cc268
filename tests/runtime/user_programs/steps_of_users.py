"""Steps, layers and loops that users write: what AutoGraph leaves alone, what a layer says of
itself without being told how, callbacks called by hand, metrics of one class.
"""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, losses, metrics

keras.utils.set_random_seed(6)
x, y = np.random.rand(12, 3).astype("float32"), np.random.rand(12, 1).astype("float32")


def attempt(label, function):
    try:
        print(label, function())
    except Exception as error:
        print(label, type(error).__name__, str(error).strip().splitlines()[-1].strip()[:100])


class Stepping(keras.Model):
    """`call` is converted; `train_step`, and what it calls, is not."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        if tf.reduce_sum(inputs) > 0:
            inputs = inputs * 2
        return self.dense(inputs)

    def train_step(self, data):
        features, labels = data
        if tf.reduce_sum(labels) > 0:
            labels = labels + 1
        return {"loss": tf.reduce_mean(labels - self(features))}

    def test_step(self, data):
        total = 0.0
        for each in data[1]:
            total += each
        return {"loss": tf.reduce_sum(total)}

    def predict_step(self, data):
        return data[0] if tf.reduce_sum(data[0]) > 0 else -data[0]


def stepping(**options):
    model = Stepping()
    model.compile("sgd", **options)
    return model


attempt("fit", lambda: stepping().fit(x, y, verbose=0))
attempt("evaluate", lambda: stepping().evaluate(x, y, verbose=0))
attempt("predict", lambda: stepping().predict(x, verbose=0))
attempt(
    "compiled", lambda: f"{stepping(jit_compile=True).fit(x, y, verbose=0).history['loss'][0]:.4f}"
)
attempt("eagerly", lambda: f"{stepping(run_eagerly=True).evaluate(x, y, verbose=0):.4f}")


class Silent(layers.Layer):
    """Has no `get_config`."""

    def __init__(self, units, rate=0.5, **kwargs):
        super().__init__(**kwargs)
        self.inner = [layers.Dense(units, name=f"inner_{number}") for number in range(2)]
        self.table = {"last": keras.Sequential([layers.Dense(1)])}

    def call(self, inputs):
        for layer in self.inner:
            inputs = layer(inputs)
        return self.table["last"](inputs)


class Closed(layers.Layer):
    def __init__(self, units):
        super().__init__()


class Speaking(Silent):
    def get_config(self):
        return {**super().get_config(), "more": 1}


silent = Silent(3, rate=0.1, name="silent")
print(silent.get_config(), Silent.from_config(silent.get_config()).name)
print(Closed(2).get_config(), Speaking(2).get_config())
attempt("config", lambda: Silent(3, rate=np.float32(0.1)).get_config())
attempt("config", lambda: Silent(units=[1, 2.0]).get_config())
silent(tf.ones((1, 2)))
print([each.name for each in silent.submodules])

memory = layers.LSTM(4, dropout=0.2, use_bias=False)
print(memory.units, memory.dropout, memory.use_bias, memory.unit_forget_bias)
attempt("attribute", lambda: memory.nonsense)


class Telling(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        print("epoch", epoch, self.params)

    def on_train_batch_end(self, batch, logs=None):
        print("batch", batch, logs)

    def on_train_end(self, logs=None):
        print("end", logs)


model = keras.Sequential([layers.Dense(1)])
told = keras.callbacks.CallbackList([Telling()], add_history=True, model=model, epochs=1)
told.on_train_begin()
told.on_epoch_begin(0, {})
told.on_train_batch_begin(0)
told.on_train_batch_end(0, {"loss": 1.5})
told.on_batch_end(1, logs={"loss": 0.5})
told.on_epoch_end(0, {"loss": 1.0})
told.on_train_end()
print(model.history.history)
attempt("callback", lambda: told.on_nothing())

rows = np.eye(3, dtype="float32")[[0, 1, 2, 2, 1]]
likely = np.array(
    [[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0, 0.2, 0.8], [0.9, 0, 0.1], [0.1, 0.6, 0.3]], "float32"
)
for metric in (
    metrics.Precision(class_id=1, thresholds=0.35),
    metrics.Recall(class_id=2),
    metrics.Precision(top_k=2),
    metrics.Recall(top_k=1, class_id=0),
    metrics.PrecisionAtRecall(0.5, class_id=1),
):
    print(metric.name, f"{metric(rows, likely).numpy():.4f}")
for loss in (losses.Huber(0.3), losses.CategoricalCrossentropy(label_smoothing=0.1)):
    config = losses.serialize(loss)
    print(config["class_name"], f"{losses.deserialize(config)(rows, likely).numpy():.4f}")
print(losses.deserialize("mse").__name__, metrics.deserialize("mae").__name__)
config = metrics.serialize(metrics.BinaryAccuracy(threshold=0.7))
print(config, metrics.deserialize(config).name)


class Failing(layers.Layer):
    def call(self, inputs, flag="a", training=None, extra=None):
        return tf.matmul(inputs, tf.ones((7, 2)))


for flag in ("b", None):
    try:
        Failing(name="failing")(tf.ones((2, 3)), flag, extra=[1, None])
    except Exception as error:
        print(str(error).partition("[Op")[2])
