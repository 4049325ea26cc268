import tensorflow as tf


@tf.function
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@tf.function
def fizz(n):
    for i in tf.range(1, n + 1):
        if i % 15 == 0:
            tf.print("FizzBuzz")
        elif i % 3 == 0:
            tf.print("Fizz")
        elif i % 5 == 0:
            tf.print("Buzz")
        else:
            tf.print(i)


@tf.function
def find(xs, limit):
    total = 0.0
    for x in xs:
        if x < 0:
            continue
        total += x
        if total > limit:
            break
    return total


@tf.function
def early(x):
    if tf.reduce_sum(x) > 0:
        return x
    y = -x
    return y * 2


@tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
def count(xs):
    print("trace", xs)
    c = tf.constant(0)
    for x in xs:
        if (x > 2 and x < 7) or x == 10:
            c += 1
    return c


print(collatz(tf.constant(27)))
fizz(tf.constant(15))
print(find(tf.constant([1.0, -2.0, 3.0, 4.0, 5.0]), 7.0))
print(early(tf.constant([1.0, 2.0])), early(tf.constant([-1.0, -2.0])))
print(count(tf.constant([1, 3, 5, 10])), count(tf.constant([4])))
print(tf.map_fn(lambda t: t * t, tf.range(4)))
print(tf.scan(lambda a, b: a + b, tf.range(5)))
print(tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (0, tf.constant(1.0))))
print(
    tf.cond(tf.constant(True), lambda: 1, lambda: 2),
    tf.switch_case(tf.constant(1), [lambda: 1.0, lambda: 2.0]),
)


@tf.function
def fib(n):
    a, b = 0, 1
    for _ in tf.range(n):
        a, b = b, a + b
    return a


print([int(fib(tf.constant(i))) for i in range(10)])


@tf.function
def g(x):
    return tf.py_function(lambda t: t.numpy() ** 2, [x], tf.float32) + tf.numpy_function(
        lambda a: (a + 1).astype("float32"), [x], tf.float32
    )


print(g(tf.constant(3.0)))


@tf.function
def nan_guard(x):
    tf.debugging.assert_all_finite(x, "bad x")
    tf.debugging.Assert(tf.reduce_all(x > 0), [x])
    return tf.math.log(x)


print(nan_guard(tf.constant([1.0, 2.0])))
try:
    nan_guard(tf.constant([-1.0, 2.0]))
except tf.errors.InvalidArgumentError as e:
    print("caught", type(e).__name__)


def py(x):
    if x > 0:
        return 1
    return None


try:
    tf.function(py, autograph=False)(tf.constant(1))
except Exception as e:
    print(type(e).__name__)
