"""Small functions for the passes: each is called once, under a name of its own."""

from __future__ import annotations

import tensorflow as tf

ROWS = tf.reshape(tf.range(8, dtype=tf.float32) / 7.0 + 0.1, (2, 4))
MORE = ROWS[::-1] * 0.5
IMAGE = tf.reshape(tf.range(256, dtype=tf.float32) / 99.0 - 1.0, (1, 8, 8, 4))
WEIGHTS = tf.Variable(tf.reshape(tf.range(16, dtype=tf.float32) / 9.0 - 1.0, (4, 4)))
BIAS = tf.Variable([0.1, -0.2, 0.3, 0.4])
FILTER = tf.Variable(tf.reshape(tf.range(144, dtype=tf.float32) / 99.0 - 0.7, (3, 3, 4, 4)))
DEPTHWISE = tf.Variable(tf.reshape(tf.range(36, dtype=tf.float32) / 30.0 - 0.7, (3, 3, 4, 1)))
QUERY = tf.reshape(tf.range(120, dtype=tf.float32) / 60.0 - 1.0, (2, 3, 5, 4))
MASK = tf.reshape(tf.range(50, dtype=tf.float32) / 10.0, (2, 1, 5, 5))


def product(x):
    return tf.nn.bias_add(tf.matmul(x, WEIGHTS), BIAS)


def added(x):
    return tf.matmul(x, WEIGHTS) + BIAS


def convolved(x):
    return tf.nn.bias_add(tf.nn.conv2d(x, FILTER, 1, "SAME"), BIAS)


def normalised(x, training=False):
    if training:
        return tf.compat.v1.nn.fused_batch_norm(x, BIAS, BIAS, is_training=True)[0]
    spread = tf.ones((4,))
    return tf.compat.v1.nn.fused_batch_norm(x, BIAS, BIAS, BIAS, spread, is_training=False)[0]


def gradients(x):
    with tf.GradientTape() as tape:
        active = tf.nn.max_pool2d(tf.nn.relu(convolved(x)), 2, 2, "SAME")
        loss = tf.reduce_sum(active**2)
    return tape.gradient(loss, [FILTER, BIAS])


def step(x, y):
    with tf.GradientTape() as tape:
        logits = tf.nn.relu(product(x))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        loss = tf.reduce_mean(losses)
    for variable, slope in zip([WEIGHTS, BIAS], tape.gradient(loss, [WEIGHTS, BIAS]), strict=True):
        variable.assign_sub(0.1 * slope)
    return loss


def collatz(n):
    steps = tf.constant(0)
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def mean_of_some(x):
    some = tf.unique(x[:, 0])[0]
    with tf.GradientTape() as tape:
        tape.watch(some)
        loss = tf.reduce_mean(some * 2.0)
    return tape.gradient(loss, some)


def rows_of(x):
    return tf.gather(x, tf.where(x[:, 0] > -9.0)[:, 0])  # nobody knows how many


def unknown_rows(x):
    rows = rows_of(x)
    with tf.GradientTape() as tape:
        tape.watch(rows)
        active = tf.nn.relu(rows @ WEIGHTS + rows) * rows
        same = tf.reshape(active, [tf.shape(active)[0], 4]) + tf.reshape(rows, tf.shape(rows))
        loss = tf.reduce_mean(same * tf.ones([1, 4]))
    return tape.gradient(loss, rows)


def nested_loops(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in tf.range(2):
            for _ in tf.range(i + 1):
                y = tf.tanh(y) * x
        loss = tf.reduce_sum(y)
    return tape.gradient(loss, x)


def second_gradient(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = tf.reduce_sum(tf.tanh(x))
        total = tf.reduce_sum(inner.gradient(loss, x) ** 2)
    return outer.gradient(total, x)


@tf.function(experimental_attributes={"_noinline": True})
def kept(x, factor):
    return x * factor, x + 1.0


ACTIVATIONS = {
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "elu": tf.nn.elu,
    "leaky": tf.nn.leaky_relu,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "gelu": tf.nn.gelu,
    "gelu_approximate": lambda x: tf.nn.gelu(x, approximate=True),
    "swish": lambda x: x * tf.sigmoid(x),
    "mish": lambda x: x * tf.tanh(tf.nn.softplus(x)),
    "softmax": tf.nn.softmax,
}
FUNCTIONS = {
    "powers": (lambda x: (x**2, x**3, x**0.5, x**1.0, x**-0.5, x**-1.0, x**0.0), ROWS),
    "chain": (lambda x, y: x + y + x + y + BIAS, ROWS, MORE),
    "twice": (lambda x: x + x, ROWS),
    "negations": (lambda x, y: (x - (-y), x + (-y), (-x) + y), ROWS, MORE),
    "unary": (lambda x: tf.exp(tf.abs(-x)), ROWS),
    "root": (lambda x, y: x / tf.sqrt(y), ROWS, MORE),
    "reshapes": (lambda x: tf.reshape(tf.reshape(x, (4, 2)), (8,)), ROWS),
    "transposed": (lambda x, y: tf.matmul(tf.transpose(x), y), ROWS, MORE),
    "stacked": (lambda x, y: tf.stack([x, y])[0], ROWS, MORE),
    "constants": (lambda x: x * 2.0 * 3.0 + 1.0 + 2.0 - 0.5, ROWS),
    "mixed": (lambda x: (1.0 - (x - 2.0), (3.0 - x) - 1.0, 2.0 * (x / 4.0), 5.0 / (x * 2.0)), ROWS),
    "neutral": (lambda x: (x * 0.0, x * 1.0, x + 0.0, 0.0 - x, x / 1.0, 1.0 / x), ROWS),
    "known": (lambda x: (tf.where(True, x, x + 1.0), tf.reshape(x, tf.shape(x))), ROWS),
    "logs": (lambda x: (tf.math.log(1.0 + x), tf.math.log(tf.nn.softmax(x))), ROWS),
    "expm1": (lambda x: tf.exp(x) - 1.0, ROWS),
    "monotonic": (lambda x: tf.reduce_max(tf.exp(x)), ROWS),
    "hoisted": (lambda x, y: tf.concat([tf.exp(x), tf.exp(y)], 0), ROWS, MORE),
    "squares": (lambda x, y: (x * x, (x * y) * (x * y), (x - y) ** 2), ROWS, MORE),
    "product_added": (lambda x, y: product(x) + y, ROWS, MORE),
    "product_added_relu": (lambda x, y: tf.nn.relu(product(x) + y), ROWS, MORE),
    "product_of_transpose": (lambda x: product(tf.matmul(x, x, transpose_a=True)), ROWS),
    "scores": (lambda q, m: tf.matmul(q, q, transpose_b=True) * 0.5 + m, QUERY, MASK),
    "softmax_of_scores": (
        lambda q, m: tf.nn.softmax(tf.matmul(q, q, transpose_b=True) / 8.0 + m),
        *(QUERY, MASK),
    ),
    "maximum": (lambda x: tf.maximum(x, 0.2 * x), ROWS),
    "convolution_added": (lambda x: convolved(x) + x, IMAGE),
    "convolution_added_relu": (lambda x: tf.nn.relu(convolved(x) + x), IMAGE),
    "padded": (
        lambda x: tf.nn.conv2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), FILTER, 1, "VALID"),
        IMAGE,
    ),
    "depthwise": (
        lambda x: tf.nn.relu(
            tf.nn.bias_add(tf.nn.depthwise_conv2d(x, DEPTHWISE, [1] * 4, "SAME"), BIAS)
        ),
        IMAGE,
    ),
    "norm_relu": (lambda x: tf.nn.relu(normalised(x)), IMAGE),
    "norm_training": (lambda x: tf.nn.relu(normalised(x, training=True)), IMAGE),
    "convolution_norm": (lambda x: normalised(tf.nn.conv2d(x, FILTER, 1, "SAME")), IMAGE),
    "pools": (lambda x: tf.nn.max_pool2d(tf.nn.avg_pool2d(x, 2, 2, "VALID"), 2, 2, "SAME"), IMAGE),
    "gradients": (gradients, IMAGE),
    "step": (step, ROWS, tf.constant([1, 2])),
    "moves": (lambda x: tf.transpose(x, [0, 3, 1, 2]), IMAGE),
    "whole_numbers": (lambda x: tf.transpose(tf.cast(x, tf.int32)), ROWS),
    "einsum": (lambda x: tf.einsum("bhwc,cd->bhwd", x, WEIGHTS), IMAGE),
    "collatz": (collatz, tf.constant(7)),
    "case": (lambda x: tf.switch_case(tf.constant(1), [lambda: x, lambda: x * 2.0]), ROWS),
    "nested": (lambda x: tf.function(product)(x) * 2.0, ROWS),
    "loop": (
        lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s * x), (0, x)),
        ROWS,
    ),
    "dead_branch": (tf.math.zero_fraction, ROWS),
    "known_branch": (
        lambda x: tf.cond(tf.size(x) > 100, lambda: tf.exp(x), lambda: tf.nn.relu(product(x))),
        ROWS,
    ),
    "compiled": (lambda x: tf.function(product, jit_compile=True)(x) * 2.0, ROWS),
    "sizes": (lambda x: tf.reshape(x, [tf.shape(x)[0], -1]) + tf.ones([tf.rank(x), 1]), ROWS),
    "mean_of_some": (mean_of_some, ROWS),
    "second_gradient": (second_gradient, ROWS),
    "unknown_rows": (unknown_rows, ROWS),
    "rows_added": (lambda x: rows_of(x) * 2.0 + tf.exp(rows_of(x)) + BIAS, ROWS),
    "nested_loops": (nested_loops, ROWS),
    "neutral_broadcast": (
        lambda x: (x[:, :1] * tf.ones([2, 4]), tf.zeros([2, 4]) + x[:1], x[:1] - tf.zeros([2, 4])),
        ROWS,
    ),
    "neutral_truth": (lambda x: (x[:, :1] > 0.5) & tf.ones([2, 4], tf.bool), ROWS),
    "reshaped_parts": (lambda x, y: tf.concat([tf.reshape(x, [8]), y[0]], 0), ROWS, MORE),
    "by_one": (lambda x: (tf.cast(x, tf.int32) // 1, tf.reduce_sum(x[:1, 0]) + 1.0), ROWS),
    "kept_call": (lambda x: kept(x, tf.constant(2.0))[0] * 3.0, ROWS),
    "unused": (lambda x, _: x * 2.0, ROWS, MORE),
    "nothing": (lambda x: x, ROWS),
}
for name, activation in ACTIVATIONS.items():
    FUNCTIONS[f"product_{name}"] = lambda x, f=activation: f(product(x)), ROWS
    FUNCTIONS[f"added_{name}"] = lambda x, f=activation: f(added(x)), ROWS
for name in ("relu", "relu6", "elu", "leaky", "tanh", "swish"):
    function = ACTIVATIONS[name]
    FUNCTIONS[f"convolution_{name}"] = lambda x, f=function: f(convolved(x)), IMAGE


def _named(name, function):
    def call(*arguments):
        return function(*arguments)

    call.__name__ = name
    return call


RESULTS = {}
for name, (function, *arguments) in FUNCTIONS.items():
    RESULTS[name] = tf.function(_named(name, function))(*arguments)
