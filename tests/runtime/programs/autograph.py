# ruff: noqa
"""AutoGraph: conditionals and loops over tensors, jumps out of them, logic, and called functions."""

import re

import tensorflow as tf


def tried(label, attempt):
    try:
        print(label, attempt())
    except Exception as error:
        lines = [line.strip() for line in str(error).split("\n") if line.strip()]
        print(label, "raises", type(error).__name__, "|", lines[-1][:110])


@tf.function
def sign(x):
    if x > 0:
        result = 1
    elif x < 0:
        result = -1
    else:
        result = 0
    return result


print([sign(tf.constant(value)).numpy().tolist() for value in (5, -5, 0)], sign(5))


@tf.function
def early(x):
    if x > 10:
        return x
    if x > 5:
        return x * 10
    return -x


print([early(tf.constant(value)).numpy().tolist() for value in (20, 6, 1)])


@tf.function
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


print(collatz(tf.constant(27)).numpy())


@tf.function
def jumps(n):
    total = 0
    for i in tf.range(n):
        if i == 2:
            continue
        if i > 6:
            break
        total += i
    return total, i


print(
    [t.numpy().tolist() for t in jumps(tf.constant(10))],
    [t.numpy().tolist() for t in jumps(tf.constant(4))],
)


@tf.function
def find(values, wanted):
    for i in tf.range(tf.size(values)):
        if values[i] == wanted:
            return i
    return -1


tried("return in a loop", lambda: find(tf.constant([4, 5, 6]), 6))


@tf.function
def find_else(values, wanted):
    found = -1
    for i in tf.range(tf.size(values)):
        if values[i] == wanted:
            found = i
            break
    return found


print(find_else(tf.constant([4, 5, 6]), 6).numpy(), find_else(tf.constant([4, 5, 6]), 7).numpy())


@tf.function
def rows(matrix):
    largest = tf.constant(-100.0)
    for row in matrix:
        largest = tf.maximum(largest, tf.reduce_sum(row))
    return largest


print(rows(tf.constant([[1.0, 2.0], [5.0, -1.0]])).numpy())


@tf.function
def python_loop(x):
    for i in range(3):
        if i == 1:
            continue
        x += i
    return x


print(python_loop(tf.constant(1)).numpy())


@tf.function
def nested(n):
    total = 0
    for i in tf.range(n):
        j = 0
        while j < i:
            if j == 3:
                break
            total += i * j
            j += 1
    return total


print(nested(tf.constant(6)).numpy())


@tf.function
def logic(a, b):
    return a > 0 and b > 0, a > 0 or b > 0, not a > 0, 1 if a > b else 2, 0 < a < b


print([t.numpy().tolist() for t in logic(tf.constant(1), tf.constant(-1))])
print([t.numpy().tolist() for t in logic(tf.constant(1), tf.constant(3))])
print(tf.function(lambda a, b: a and b)(True, 5))


def helper(x):
    if x > 0:
        return x * 2
    return x


@tf.function
def calls(x):
    return helper(x) + max(1, 2) + len([1, 2])


print(calls(tf.constant(3)).numpy(), calls(tf.constant(-3)).numpy())


@tf.function
def growing(n):
    array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    for i in tf.range(n):
        array = array.write(i, i * i)
    return array.stack()


print(growing(tf.constant(5)).numpy())


@tf.function
def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


print(fibonacci(tf.constant(20)).numpy())


@tf.function
def differentiable(x, n):
    y = x
    while n > 0:
        if y > 100.0:
            break
        y = y * x
        n -= 1
    return y


for count in (0, 2, 50):
    with tf.GradientTape() as tape:
        three = tf.constant(3.0)
        tape.watch(three)
        z = differentiable(three, tf.constant(count))
    print(z.numpy(), tape.gradient(z, three).numpy())


@tf.function
def asserting(x):
    assert x > 0, "must be positive"
    return x


tried("assert", lambda: asserting(tf.constant(1)))


@tf.function
def one_sided(x):
    if x > 0:
        y = x
    return y


tried("undefined in a branch", lambda: one_sided(tf.constant(1)))


@tf.function
def dtypes_differ(x):
    if x > 0:
        y = 1
    else:
        y = 1.0
    return y


tried("dtypes of branches", lambda: dtypes_differ(tf.constant(1)))


@tf.function
def changing(n):
    x = tf.constant(1)
    while n > 0:
        x = tf.constant(1.5)
        n -= 1
    return x


tried("dtype of a loop variable", lambda: changing(tf.constant(1)))


@tf.function
def shape_grows(n):
    x = tf.zeros([0], tf.int32)
    for i in tf.range(n):
        x = tf.concat([x, [i]], 0)
    return x


tried("shape of a loop variable", lambda: shape_grows(tf.constant(3)))


@tf.function
def shape_may_grow(n):
    x = tf.zeros([0], tf.int32)
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
        x = tf.concat([x, [i]], 0)
    return x


print(shape_may_grow(tf.constant(3)).numpy())


@tf.autograph.experimental.do_not_convert
def left_alone(x):
    if x > 0:
        return x
    return -x


tried("not converted", lambda: tf.function(lambda x: left_alone(x))(tf.constant(1)))


class Box:
    pass


@tf.function
def attributes(x):
    box = Box()
    box.value = x
    state = {"k": x}
    if x > 0:
        box.value = x * 2
        state["k"] = x * 3
    return box.value, state["k"]


print(
    [t.numpy().tolist() for t in attributes(tf.constant(2))],
    [t.numpy().tolist() for t in attributes(tf.constant(-2))],
)


@tf.function
def printing(n):
    for i in tf.range(n):
        if i % 2 == 0:
            print("traced once", i)
    return n


printing(tf.constant(3))
