# ruff: noqa
"""`tf.cond`, `tf.while_loop`, `tf.case`, `tf.switch_case`, `tf.map_fn`, `tf.TensorArray`, and the
gradients through them, eagerly and in functions."""

import tensorflow as tf


def tried(label, attempt):
    try:
        print(label, attempt())
    except Exception as error:
        lines = [line.strip() for line in str(error).split("\n") if line.strip()]
        print(label, "raises", type(error).__name__, "|", lines[-1][:110])


def show(value):
    return [tf.convert_to_tensor(t).numpy().tolist() for t in tf.nest.flatten(value)]


def both(function, *args):
    print(show(function(*args)), show(tf.function(function)(*args)))


x = tf.constant(3.0)
both(lambda x: tf.cond(x > 2.0, lambda: x * 2.0, lambda: x), x)
both(lambda x: tf.cond(x > 5.0, lambda: (x, [x]), lambda: (-x, [x + 1.0])), x)
both(lambda x: tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s * x), [0, 1.0]), x)
both(lambda x: tf.case([(x > 5.0, lambda: 1), (x > 2.0, lambda: 2)], default=lambda: 3), x)
both(lambda i: tf.switch_case(i, [lambda: 10, lambda: 20, lambda: 30]), tf.constant(1))
both(
    lambda i: tf.switch_case(i, {0: lambda: 10, 1: lambda: 20}, default=lambda: -1), tf.constant(7)
)
both(lambda m: tf.map_fn(lambda row: row * 2.0, m), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
both(
    lambda m: tf.map_fn(lambda t: t[0] + t[1], (m, m * 10.0), fn_output_signature=tf.float32),
    tf.constant([1.0, 2.0]),
)
both(
    lambda v: tf.scan(lambda a, e: a + e, v),
    tf.constant([1, 2, 3]),
)
both(lambda v: tf.foldl(lambda a, e: a * 10 + e, v), tf.constant([1, 2, 3]))


def arrays(n):
    array = tf.TensorArray(tf.float32, size=3)
    for i in range(3):
        array = array.write(i, tf.cast(n, tf.float32) + float(i))
    more = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(array.stack() * 2.0)
    return (
        array.stack(),
        more.read(1),
        array.size(),
        more.gather([0, 2]),
        array.concat() if False else more.stack(),
    )


both(arrays, tf.constant(1))


def gradient_of(function, staged, *args):
    function = tf.function(function) if staged else function
    with tf.GradientTape() as tape:
        tape.watch(args)
        result = function(*args)
    return [
        None if g is None else (g * 1000 // 1).numpy().tolist() for g in tape.gradient(result, args)
    ]


def compare(function, *args):
    print(gradient_of(function, False, *args), gradient_of(function, True, *args))


compare(lambda x: tf.cond(x > 2.0, lambda: x * x, lambda: x), x)
compare(lambda x, y: tf.cond(x > 5.0, lambda: x * y, lambda: x + tf.sin(y)), x, tf.constant(2.0))
compare(lambda x: tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s * x), [0, 1.0])[1], x)
compare(
    lambda x, y: tf.while_loop(
        lambda i, s: s < 50.0,
        lambda i, s: (i + 1, tf.cond(i % 2 == 0, lambda: s * x, lambda: s + y)),
        [0, y],
    )[1],
    x,
    tf.constant(2.0),
)
compare(lambda x: tf.switch_case(tf.cast(x, tf.int32) - 2, [lambda: x, lambda: x * x]), x)


def second(function, staged, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = (tf.function(function) if staged else function)(x)
        first = inner.gradient(y, x)
    return float(first), float(outer.gradient(first, x))


def power(x):
    return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), [0, 1.0])[1]


def chosen(x):
    return tf.cond(x > 0.0, lambda: x * x * x, lambda: x)


for function in (power, chosen):
    print(second(function, False, x), second(function, True, x))


@tf.function
def inside(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = power(x) + chosen(x)
    return tape.gradient(y, x)


print(inside(x).numpy())
v = tf.Variable(1.0)


@tf.function
def with_effects(n):
    tf.while_loop(lambda i: i < n, lambda i: (v.assign_add(2.0), i + 1)[1:], [0])
    tf.cond(n > 2, lambda: v.assign_add(100.0), lambda: v.assign_add(1000.0))
    return v.read_value()


print(with_effects(tf.constant(3)).numpy(), with_effects(tf.constant(1)).numpy())
tried("dtypes", lambda: tf.function(lambda x: tf.cond(x > 0.0, lambda: x, lambda: 1))(x))
tried(
    "shapes",
    lambda: tf.function(
        lambda x: tf.while_loop(lambda s: True, lambda s: (tf.concat([s, s], 0),), [tf.ones([1])])
    )(x),
)
tried("reading", lambda: tf.TensorArray(tf.float32, 2).read(5))
tried("no callable", lambda: tf.cond(True, 1, lambda: 2))
print(tf.while_loop(lambda i: i < 10, lambda i: [i + 1], [tf.constant(0)], maximum_iterations=4))
