"""Datasets of generators, filters with gaps, resized images, losses of layers, sparse gradients."""

import numpy as np
import tensorflow as tf

L = tf.keras.layers


# Datasets
def rows(n=3):
    for i in range(n):
        yield np.full((2,), i, "float32"), i


spec = (tf.TensorSpec((2,), tf.float32), tf.TensorSpec((), tf.int32))
generated = tf.data.Dataset.from_generator(rows, output_signature=spec)
for x, y in generated.batch(2):
    print(x.shape, y.numpy())
again = tf.data.Dataset.from_generator(rows, (tf.float32, tf.int64), args=(tf.constant(2),))
print([int(y) for _, y in again.repeat(2)], len(list(again.take(1))))
numbers = tf.data.Dataset.range(6)
print([int(v) for v in numbers.batch(4).unbatch().map(lambda v: v)])
print([v.numpy().tolist() for v in numbers.batch(4).rebatch(3)])
choices = tf.data.Dataset.range(2).repeat(2)
print([int(v) for v in tf.data.Dataset.choose_from_datasets([numbers, numbers.skip(3)], choices)])


# Convolutions with gaps, and images of other sizes
def whole(value):
    return round(float(value), 2)


x = tf.reshape(tf.range(2.0 * 7 * 9 * 2), (2, 7, 9, 2)) / 100.0
k = tf.reshape(tf.range(3.0 * 3 * 2 * 3), (3, 3, 2, 3)) / 50.0
for padding in ("SAME", "VALID"):
    with tf.GradientTape() as tape:
        tape.watch([x, k])
        y = tf.nn.convolution(x, k, padding=padding, dilations=[2, 3])
    print(y.shape, [whole(tf.reduce_mean(g)) for g in (y, *tape.gradient(y, [x, k]))])
spread = tf.space_to_batch(x[:, :6, :8], [2, 2], [[0, 0], [1, 1]])
print(spread.shape, np.allclose(tf.batch_to_space(spread, [2, 2], [[0, 0], [1, 1]]), x[:, :6, :8]))
causal = L.Conv1D(2, 3, padding="causal", dilation_rate=2, kernel_initializer="ones")
print(whole(tf.reduce_sum(causal(x[:, 0]))))
general = tf.function(
    lambda z: tf.nn.convolution(z, k, padding="SAME", dilations=[2, 1]),
    input_signature=[tf.TensorSpec((None, None, None, 2))],
)
names = [node.name for node in general.get_concrete_function().graph.as_graph_def().node]
print(len(names), names[-8:], whole(tf.reduce_mean(general(x))))
for method in ("nearest", "bilinear"):
    for size in ((3, 4), (14, 18), (7, 5)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.image.resize(x, size, method=method)
            total = tf.reduce_mean(y * y)
        print(method, y.shape, whole(total), whole(tf.reduce_sum(tape.gradient(total, x))))
print(
    L.UpSampling2D((2, 3), interpolation="bilinear")(x).shape, tf.image.resize(x[0], (2, 2)).shape
)


# Losses that layers add, in the order of the layers
class Gate(L.Layer):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def build(self, shape):
        self.k = self.add_weight("k", (shape[-1], 3), initializer="ones", regularizer="l2")

    def call(self, inputs):
        self.add_loss(self.factor * tf.reduce_sum(tf.square(self.k)))
        return tf.matmul(inputs, self.k)


model = tf.keras.Sequential(
    [
        L.Dense(2, kernel_regularizer="l1", kernel_initializer="ones"),
        Gate(0.5),
        L.Dense(3, kernel_regularizer="l2", kernel_initializer="ones", activity_regularizer="l2"),
        Gate(0.25),
    ]
)
for size in (2, 3):
    model(tf.ones((size, 4)))
    print([whole(loss) for loss in model.losses])
model.compile(tf.keras.optimizers.Nadam(0.1), "mse", run_eagerly=True)
print([round(v) for v in model.fit(np.ones((4, 4)), np.ones((4, 3)), verbose=0).history["loss"]])

# Gradients that are slices are clipped as slices
table = tf.Variable(tf.ones((5, 2)))
for options in ({"clipnorm": 1.0}, {"clipvalue": 0.5}, {"global_clipnorm": 1.0}):
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 3, 1]) ** 2)
    gradient = tape.gradient(total, table)
    tf.keras.optimizers.SGD(0.1, **options).apply_gradients([(gradient, table)])
    print([whole(v) for v in table[:, 0]], type(tf.clip_by_norm(gradient, 1.0)).__name__)


# What a loop asks of Python is not differentiated
@tf.function
def visited(state, weights):
    seen = tf.TensorArray(tf.float32, 0, True)
    for step in tf.range(4):
        seen = seen.write(step, tf.reduce_sum(tf.matmul(state[None], weights)))
        state, end = tf.numpy_function(
            lambda s: (s * np.float32(0.5), np.int32(0)), [state], [tf.float32, tf.int32]
        )
        state.set_shape((3,))
        if tf.cast(end, tf.bool):
            break
    return seen.stack()


@tf.function
def trained(state, weights):
    with tf.GradientTape() as tape:
        tape.watch(weights)
        values = visited(state, weights)
        total = tf.reduce_sum(values * values[::-1])
    return tape.gradient(total, weights)


print(trained(tf.ones(3), tf.ones((3, 2))).numpy().round(2).tolist())

# Others
print(tf.compat.v1.nn.xw_plus_b(tf.ones((2, 3)), tf.ones((3, 2)), tf.ones(2)).numpy().tolist())
print(tf.random.create_rng_state(2**64 + 5, "philox").numpy().tolist())
print(tf.random.Generator.from_seed([1, 2]).state.numpy().tolist())
decay = tf.keras.optimizers.schedules.CosineDecay(0.1, 10, warmup_target=0.5, warmup_steps=2)
step = tf.function(lambda s: decay(s))
print([whole(step(tf.constant(s))) for s in (0, 1, 2, 5)])
