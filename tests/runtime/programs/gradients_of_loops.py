import tensorflow as tf

tf.random.set_seed(2)
w = tf.Variable(tf.random.normal([5, 5]) * 0.3)


@tf.function
def rnn(xs):
    h = tf.zeros([2, 5])
    ta = tf.TensorArray(tf.float32, size=4)
    for t in tf.range(4):
        h = tf.tanh(tf.matmul(h, w) + xs[:, t])
        ta = ta.write(t, h)
    return tf.transpose(ta.stack(), [1, 0, 2])


@tf.function
def train(xs):
    with tf.GradientTape() as tape:
        l = tf.reduce_mean(rnn(xs) ** 2)
    g = tape.gradient(l, w)
    w.assign_sub(0.1 * g)
    return l


@tf.function
def newton(a):
    x = a
    while tf.abs(x * x - a) > 1e-3:
        x = 0.5 * (x + a / x)
    return x


@tf.function
def dnewton(a):
    with tf.GradientTape() as t:
        t.watch(a)
        y = newton(a)
    return t.gradient(y, a)


@tf.function
def branchy(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.cond(
            tf.reduce_sum(x) > 0.0, lambda: tf.reduce_sum(tf.exp(x)), lambda: tf.reduce_sum(x * x)
        )
    return t.gradient(y, x)


@tf.function
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 50:
            break
    return steps


@tf.function
def second(x):
    with tf.GradientTape() as o:
        o.watch(x)
        with tf.GradientTape() as i:
            i.watch(x)
            y = x
            for _ in tf.range(2):
                y = y * x
        g = i.gradient(y, x)
    return o.gradient(g, x)


xs = tf.random.normal([2, 4, 5])
for _ in range(3):
    l = train(xs)
print(l.shape, rnn(xs).shape)
for a in (2.0, 9.0):
    print(round(float(newton(tf.constant(a))), 2), round(float(dnewton(tf.constant(a))), 2))
print(branchy(tf.constant([1.0, 2.0])).shape, branchy(tf.constant([-1.0, -2.0])).numpy())
print(collatz(tf.constant(7)).numpy(), float(second(tf.constant(2.0))))
with tf.GradientTape() as t:
    y = tf.reduce_sum(rnn(xs))
print(t.gradient(y, w).shape)
