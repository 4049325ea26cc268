"""What staging brings: a small residual CNN trained eagerly and as a graph, by batch size.

    python examples/staging.py [SECONDS [BATCH…]]          with TensorFlow, if it is installed
    tflogscope simulate examples/staging.py 0.5 1 8 64     on the reference runtime

Figure 5 of the paper "TensorFlow Eager" shows this for ResNet-50: examples per second, and by how
many percent staging improves them. The smaller the batch, the larger the share of the time that is
spent around the kernels, and the more there is to win. SECONDS (1 if not said) is how long each
figure is measured.
"""

from __future__ import annotations

import sys
import time

import tensorflow as tf

BATCHES = (1, 2, 4, 8, 16, 32)


class Block(tf.keras.layers.Layer):
    """Two convolutions, and what came in added to what they give."""

    def __init__(self, filters):
        super().__init__()
        self.convolutions = [tf.keras.layers.Conv2D(filters, 3, padding="same") for _ in range(2)]
        self.norms = [tf.keras.layers.BatchNormalization() for _ in range(2)]

    def call(self, x, training=False):
        y = tf.nn.relu(self.norms[0](self.convolutions[0](x), training=training))
        y = self.norms[1](self.convolutions[1](y), training=training)
        return tf.nn.relu(x + y)


class Net(tf.keras.Model):
    """A convolution, two residual blocks, and a classifier."""

    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Conv2D(8, 3, padding="same", activation="relu")
        self.blocks = [Block(8) for _ in range(2)]
        self.pool = tf.keras.layers.GlobalAveragePooling2D()
        self.last = tf.keras.layers.Dense(10)

    def call(self, x, training=False):
        x = self.first(x)
        for block in self.blocks:
            x = block(x, training=training)
        return self.last(self.pool(x))


def make_step():
    """A training step of a new model."""
    model = Net()
    optimizer = tf.keras.optimizers.SGD(0.01)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return step


def examples_per_second(step, images, labels, seconds):
    """How many examples it trains with in a second."""
    step(images, labels)  # traces, makes kernels
    count, start = 0, time.perf_counter()
    while (took := time.perf_counter() - start) < seconds or count == 0:
        step(images, labels)
        count += 1
    return count * len(labels) / took


def main():
    """Print a row for each batch size."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    batches = [int(batch) for batch in sys.argv[2:]] or BATCHES
    print("batch   eager/s  staged/s  improvement")
    for batch in batches:
        images = tf.random.stateless_normal([batch, 8, 8, 3], seed=[1, 2])
        labels = tf.range(batch) % 10
        eager = examples_per_second(make_step(), images, labels, seconds)
        staged = examples_per_second(tf.function(make_step()), images, labels, seconds)
        print(f"{batch:5} {eager:9.1f} {staged:9.1f} {100 * (staged / eager - 1):+11.0f} %")


if __name__ == "__main__":
    main()
