import tensorflow as tf


@tf.function
def square_sum(a, b):
    return tf.reduce_sum(a * a + b)


@tf.function
def middle(x):
    s = square_sum(x, 1.0)
    return x * s + square_sum(x, 2.0)


@tf.function
def outer(x, flag=True):
    y = middle(x)
    if flag:
        y = tf.nn.tanh(y) + middle(y * 0.001)
    return {"y": y, "mean": tf.reduce_mean(y)}


@tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
def rows(m):
    return tf.matmul(m, tf.transpose(m))


@tf.function
def fact(n):
    if n <= 1:
        return tf.constant(1)
    return n * fact_py(n - 1)


def fact_py(n):
    return tf.reduce_prod(tf.range(1, n + 1))


class Counter(tf.Module):
    def __init__(self):
        self.n = tf.Variable(0)

    @tf.function
    def bump(self, by):
        self.n.assign_add(by)
        return self.n


x = tf.constant([[1.0, 2.0, 3.0, 4.0]])
for i in range(2):
    r = outer(x)
r = outer(x, flag=False)
print(sorted(r), r["mean"].numpy())
for n in (1, 3, 5):
    rows(tf.ones([n, 4]))
print(fact(tf.constant(5)).numpy())
c = Counter()
c.bump(tf.constant(2))
print(int(c.bump(tf.constant(3))))
cf = outer.get_concrete_function(tf.TensorSpec([None, 4], tf.float32))
print(cf(tf.ones([2, 4]))["mean"].numpy() > 0)
g = tf.function(lambda *xs, **kw: tf.add_n(list(xs)) * kw["k"])
print(g(x, x, k=tf.constant(2.0)).numpy().tolist())


@tf.function
def lazy(v):
    w = tf.Variable(3.0) if not hasattr(lazy, "w") else lazy.w
    lazy.w = w
    return v * w


@tf.custom_gradient
def clip(x):
    def grad(dy):
        return tf.clip_by_value(dy, -0.1, 0.1)

    return tf.identity(x), grad


@tf.function
def with_custom(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.reduce_sum(clip(x) ** 3)
    return t.gradient(y, x)


print(with_custom(x).numpy().tolist())
