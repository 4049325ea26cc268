import numpy as np, tensorflow as tf


class M(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d = tf.keras.layers.Dense(8, activation="relu")
        self.o = tf.keras.layers.Dense(1)
        self.tracker = tf.keras.metrics.Mean(name="loss")

    def call(self, x, training=False):
        return self.o(self.d(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as t:
            l = tf.reduce_mean((self(x, training=True) - y) ** 2)
        self.optimizer.apply_gradients(
            zip(t.gradient(l, self.trainable_variables), self.trainable_variables)
        )
        self.tracker.update_state(l)
        return {"loss": self.tracker.result()}

    @property
    def metrics(self):
        return [self.tracker]


x = np.random.rand(64, 4).astype("float32")
y = x.sum(1, keepdims=True)
for eager in (False, True):
    m = M()
    m.compile(optimizer="adam", run_eagerly=eager)
    m.fit(x, y, epochs=2, batch_size=16, verbose=0)
print(m.predict(x[:8], verbose=0).shape)
m2 = tf.keras.Sequential(
    [
        tf.keras.layers.Input((4,)),
        tf.keras.layers.Dense(4),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(1),
    ]
)
m2.compile("rmsprop", "mse", metrics=["mae"])
m2.fit(
    x,
    y,
    epochs=3,
    batch_size=16,
    verbose=0,
    validation_data=(x[:16], y[:16]),
    callbacks=[
        tf.keras.callbacks.ReduceLROnPlateau(patience=0),
        tf.keras.callbacks.EarlyStopping(patience=2),
        tf.keras.callbacks.LearningRateScheduler(lambda e, lr: lr * 0.9),
    ],
    sample_weight=np.ones(64, "float32"),
)
print(
    m2.evaluate(x, y, verbose=0),
    m2.train_on_batch(x[:8], y[:8]),
    m2.predict_on_batch(x[:4]).shape,
    m2.test_on_batch(x[:8], y[:8]),
)
for i in range(3):
    z = m2(x[:4])
    print(float(tf.reduce_sum(z)))
