import tensorflow as tf

x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
k = tf.constant([[1.0], [2.0]])
with tf.GradientTape(persistent=True) as t:
    y = tf.tanh(x @ k)
    z = tf.reduce_sum(y * y)
print(t.gradient(z, x), t.gradient(y, x))
j = t.jacobian(y, x)
print(j.shape)
del t
with tf.GradientTape() as o:
    with tf.GradientTape() as i:
        l = tf.reduce_sum(tf.sin(x) ** 3)
    g = i.gradient(l, x)
    gg = tf.reduce_sum(g * g)
print(o.gradient(gg, x))
with tf.GradientTape() as t:
    t.watch(k)
    b = tf.linalg.matmul(x, k)
print(t.gradient(b, [x, k], output_gradients=tf.ones((2, 1)) * 2.0))
with tf.GradientTape() as t:
    t.watch(k)
    b = tf.reshape(k, (2, 1, 1)) * tf.ones((2, 3, 1))
try:
    print(t.batch_jacobian(b, k).shape)
except Exception as e:
    print(type(e))


@tf.custom_gradient
def cg(a):
    def grad(dy):
        return dy * tf.exp(-a)

    return tf.exp(a), grad


with tf.GradientTape() as t:
    t.watch(k)
    q = cg(k)
print(t.gradient(q, k))


@tf.function
def f(a):
    with tf.GradientTape() as t:
        t.watch(a)
        b = tf.reduce_sum(a * a)
    return t.gradient(b, a)


print(f(k))
with tf.GradientTape() as t:
    t.watch(k)
    b = tf.reduce_sum(f(k) * 2.0)
print(t.gradient(b, k))
print(tf.gradients if False else "")
for _ in range(4):
    with tf.GradientTape() as t:
        loss = tf.reduce_mean((x @ k - 1.0) ** 2)
    x.assign_sub(0.1 * t.gradient(loss, x))
