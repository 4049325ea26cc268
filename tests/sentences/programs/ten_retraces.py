"""Ten functions, each traced again for one known reason; and near misses."""
import enum
import numpy as np
import tensorflow as tf


class Mode(enum.Enum):
    TRAIN = 1
    EVAL = 2


class Net(tf.Module):
    def __init__(self, size):
        self.w = tf.Variable(tf.ones((4, size)))

    @tf.function
    def forward(self, x):
        return x @ self.w


@tf.function
def counted(x, epoch):
    return x * epoch


@tf.function
def widths(x):
    return tf.reduce_sum(x)


@tf.function
def kinds(x):
    return x + x


@tf.function
def ranks(x):
    return tf.square(x)


@tf.function
def optional(x, bias=None):
    return x if bias is None else x + bias


@tf.function
def mode_of(x, mode):
    return x * 2.0 if mode is Mode.TRAIN else x


@tf.function
def named(x, activation="relu"):
    return tf.nn.relu(x) if activation == "relu" else tf.nn.elu(x)


@tf.function
def nested(batch):
    return tf.add_n(tf.nest.flatten(batch))


@tf.function
def of_list(xs):
    return tf.add_n(xs)


@tf.function(reduce_retracing=True)
def relaxed(x):
    return tf.reduce_max(x)


@tf.function(input_signature=[tf.TensorSpec([None, 4])])
def fixed(x):
    return tf.reduce_mean(x)


@tf.function
def from_numpy(x):
    return x - 1.0


one = tf.ones((8, 4))
for epoch in range(4):  # 1: a Python number; 3 more
    counted(one, epoch)
for width in (3, 5, 7):  # 2: another size; 2 more
    widths(tf.ones((2, width)))
for dtype in (tf.float32, tf.float64, tf.float16):  # 3: types; 2 more
    kinds(tf.ones((3,), dtype))
for shape in ((2,), (2, 2), (2, 2, 2)):  # 4: ranks; 2 more
    ranks(tf.ones(shape))
optional(one), optional(one, bias=tf.ones((4,)))  # 5: None, then a tensor; 1 more
mode_of(one, Mode.TRAIN), mode_of(one, Mode.EVAL), mode_of(one, Mode.TRAIN)  # 6: an enumeration; 1 more
named(one), named(one, activation="elu")  # 7: a text, first by its default; 1 more
nested({"a": one, "b": one}), nested({"a": one, "b": one, "c": one})  # 8: structure; 1 more
for count in range(1, 6):  # 9: a list that grows; 4 more
    of_list([one] * count)
for _ in range(3):  # 10: made again in a loop; 2 more
    tf.function(lambda x: x / 2.0)(one)
nets = [Net(2), Net(3)]
for net in nets:  # near miss: two objects, each traced once
    net.forward(one)
for rows in (2, 3, 4, 5):  # reduce_retracing: 1 more, [2,4] then [?,4]
    relaxed(tf.ones((rows, 4)))
for rows in (2, 3, 4):  # near miss: a signature
    fixed(tf.ones((rows, 4)))
for number in range(3):  # near miss: arrays of NumPy become tensors
    from_numpy(np.full((2, 2), number, "float32"))
