"""A subclassed model in a loop of one's own: tape, optimizer, metrics; traced and eager."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(5)


class Block(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.norm = tf.keras.layers.LayerNormalization()

    def build(self, input_shape):
        self.w = self.add_weight(
            "w", shape=(input_shape[-1], self.units), initializer="glorot_uniform"
        )
        self.b = self.add_weight("b", shape=(self.units,), initializer="zeros")

    def call(self, x, training=False):
        y = tf.nn.relu(tf.matmul(x, self.w) + self.b)
        if training:
            y = y * 1.5
        return self.norm(y)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(8), Block(6)]
        self.head = tf.keras.layers.Dense(2)

    def call(self, x, training=False):
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(x)


net = Net()
optimizer = tf.keras.optimizers.Adam(0.02)
loss_of = tf.keras.losses.MeanSquaredError()
mean = tf.keras.metrics.Mean()
x = tf.constant(np.random.rand(16, 5).astype("f"))
y = tf.constant(np.random.rand(16, 2).astype("f"))


def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, net(x, training=True))
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    mean.update_state(loss)
    return loss


traced = tf.function(step)
for i in range(3):
    print("eager", i, float(step(x, y)))
for i in range(3):
    print("traced", i, float(traced(x, y)))
print(float(mean.result()), int(optimizer.iterations), [v.name for v in net.trainable_variables])
net.compile("adam", "mse")
print(net.fit(x, y, epochs=1, verbose=0).history)
print(net(x[:1]))
