import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(11)


class Residual(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.c1 = tf.keras.layers.Conv2D(4, 3, padding="same", use_bias=False)
        self.b1 = tf.keras.layers.BatchNormalization()
        self.c2 = tf.keras.layers.Conv2D(4, 3, padding="same")
        self.d = tf.keras.layers.Dense(3)

    def call(self, x, training=False):
        h = tf.nn.relu(self.b1(self.c1(x), training=training))
        h = self.c2(h) + x
        h = tf.nn.avg_pool2d(tf.nn.relu(h), 2, 2, "VALID")
        return self.d(tf.reshape(h, [tf.shape(h)[0], -1]))


m = Residual()
x = np.random.rand(16, 6, 6, 4).astype("float32")
y = np.random.randint(0, 3, 16)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
opt = tf.keras.optimizers.SGD(
    tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.9), momentum=0.9
)
acc = tf.keras.metrics.SparseCategoricalAccuracy()
mean = tf.keras.metrics.Mean()


@tf.function
def train(xb, yb):
    with tf.GradientTape() as tape:
        logits = m(xb, training=True)
        loss = loss_fn(yb, logits) + 1e-3 * tf.add_n(
            [tf.nn.l2_loss(v) for v in m.trainable_variables]
        )
    grads = tape.gradient(loss, m.trainable_variables)
    opt.apply_gradients(zip(grads, m.trainable_variables))
    acc.update_state(yb, logits)
    mean(loss)


for epoch in range(3):
    mean.reset_states()
    acc.reset_states()
    for xb, yb in tf.data.Dataset.from_tensor_slices((x, y)).batch(4):
        train(xb, yb)
    tf.print("epoch", epoch, "loss", mean.result())
    print(f"Epoch {epoch}: loss={mean.result():.4f} acc={acc.result():.3f}")
print([(v.name, v.shape) for v in m.trainable_variables])
print(m(x[:1]).numpy().round(3))
print(len(m.layers), m.count_params())


@tf.custom_gradient
def clip_grad(x):
    return x, lambda dy: tf.clip_by_value(dy, -0.1, 0.1)


v = tf.Variable(3.0)
with tf.GradientTape() as t:
    l = clip_grad(v) * 5
print(t.gradient(l, v))


@tf.function
def f(x, n=2, flag=True):
    print("tracing", x.shape, n, flag)
    return x**n if flag else x


f(tf.constant(1.0))
f(tf.constant(2.0))
f(tf.constant([1.0]))
f(tf.constant(1.0), 3)
f(tf.constant(1.0), flag=False)

cf = f.get_concrete_function(tf.TensorSpec([None], tf.float32))
print(cf(tf.constant([1.0, 2.0])))
print(cf.structured_input_signature, cf.structured_outputs)
print([n.name for n in cf.graph.get_operations()])
