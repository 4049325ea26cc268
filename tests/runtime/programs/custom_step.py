"""`train_step` of one's own: in a subclassed and in a functional model; losses that layers add."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)


class Own(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(
            4, activation="relu", kernel_regularizer=tf.keras.regularizers.L1L2(0.01, 0.02)
        )
        self.out = tf.keras.layers.Dense(1)
        self.tracker = tf.keras.metrics.Mean(name="loss")

    def call(self, x, training=None):
        y = self.hidden(x)
        self.add_loss(0.1 * tf.reduce_mean(y))
        return self.out(y)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            error = tf.reduce_mean(tf.square(y - self(x, training=True)))
            loss = error + tf.add_n(self.losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}

    @property
    def metrics(self):
        return [self.tracker]


class Functional(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=predicted)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        for metric in self.metrics:
            metric.update_state(*([loss] if metric.name == "loss" else [y, predicted]))
        return {metric.name: metric.result() for metric in self.metrics}


x = np.random.rand(12, 3).astype("f")
y = x.sum(1, keepdims=True)
m = Own()
m.compile(optimizer=tf.keras.optimizers.RMSprop(0.01))
print(m.fit(x, y, batch_size=6, epochs=2, verbose=0).history)
m.summary()
print([(w.name, w.shape) for w in m.weights])
inputs = tf.keras.Input(shape=(3,))
f = Functional(inputs, tf.keras.layers.Dense(1)(inputs))
f.compile("sgd", "mse", metrics=["mae"])
print(f.fit(x, y, epochs=2, verbose=0).history, isinstance(f, Functional))
f.summary()
a, b = tf.keras.Input((3,), name="a"), tf.keras.Input((3,), name="b")
both = {"total": tf.reduce_sum(a + b, axis=-1, keepdims=True), "scaled": 1.0 / (tf.exp(a) - b)}
g = tf.keras.Model([a, b], both)
g.compile("sgd", {"total": "mse", "scaled": "mae"}, metrics={"total": ["mae"]})
print(g.evaluate([x, x * 2], {"total": y, "scaled": x}, return_dict=True, verbose=0))
