"""Subclassed, functional, sequential models, shared layers."""

import numpy as np
import tensorflow as tf


class Block(tf.keras.layers.Layer):
    def __init__(self, u, **k):
        super().__init__(**k)
        self.u = u

    def build(self, s):
        self.w = self.add_weight(name="w", shape=(s[-1], self.u), initializer="ones")
        self.b = self.add_weight(name="b", shape=(self.u,), initializer="zeros", trainable=False)

    def call(self, x, training=None):
        if training:
            return x @ self.w
        return x @ self.w + self.b

    def get_config(self):
        return {**super().get_config(), "u": self.u}

    def compute_output_shape(self, s):
        return s[:-1] + (self.u,)


class M(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.a = Block(3)
        self.d = tf.keras.layers.Dropout(0.5)
        self.out = tf.keras.layers.Dense(1, kernel_initializer="ones")
        self.blocks = [Block(3, name="x1"), Block(3)]

    def call(self, x, training=False):
        h = self.a(x, training=training)
        h = self.d(h, training=training)
        for b in self.blocks:
            h = b(h)
        return self.out(h)


m = M()
print(m(tf.ones([1, 2])).numpy())
print([w.name for w in m.weights], [l.name for l in m.layers], m.count_params())
m.summary()
print(m.name, m.built, m.a.get_config())
m.compile(tf.keras.optimizers.SGD(1e-4), "mse")
print(m.fit(np.ones([4, 2]), np.ones([4, 1]), verbose=0).history.keys())

b = Block.from_config({"u": 2, "name": "q", "trainable": True, "dtype": "float32"})
print(b.name, b.u)
i = tf.keras.Input((4,), name="in")
x = tf.keras.layers.Dense(3, activation="relu")(i)
y = tf.keras.layers.Concatenate()([x, i])
z = tf.keras.layers.Add()([x, tf.keras.layers.Dense(3)(y)])
m = tf.keras.Model(i, tf.keras.layers.Dense(1, name="o")(z))
m.summary()
print(
    m.input_shape,
    m.output_shape,
    [l.name for l in m.layers],
    m.get_layer("o").units,
    m.inputs,
    m.outputs,
    m.input,
    m.get_layer(index=1).output,
)
m.get_layer("o").trainable = False
print(len(m.trainable_weights), len(m.non_trainable_weights))
w = m.get_weights()
m.set_weights([np.ones_like(a) for a in w])
print(m(tf.ones([1, 4])).numpy(), m.predict(np.ones([2, 4]), verbose=0))
sub = tf.keras.Model(m.input, m.layers[1].output)
print(sub(tf.ones([1, 4])).numpy())

i = tf.keras.Input((4,))
t = tf.reduce_mean(i * 2 + 1, axis=1, keepdims=True)
m = tf.keras.Model(i, tf.nn.relu(t))
print(m(tf.ones([1, 4])))
m.summary()
print(i, t, i.shape, i.dtype)


class CM(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as t:
            p = self(x, training=True)
            l = self.compiled_loss(y, p, regularization_losses=self.losses)
        self.optimizer.minimize(
            l, self.trainable_variables, tape=t
        ) if 0 else self.optimizer.apply_gradients(
            zip(t.gradient(l, self.trainable_variables), self.trainable_variables)
        )
        self.compiled_metrics.update_state(y, p)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        x, y = data
        p = self(x, training=False)
        self.compute_loss(y=y, y_pred=p)
        self.compiled_metrics.update_state(y, p)
        return {m.name: m.result() for m in self.metrics}


i = tf.keras.Input((2,))
m = CM(i, tf.keras.layers.Dense(1, kernel_initializer="ones")(i))
m.compile("sgd", "mse", metrics=["mae"])
print(
    m.fit(np.ones([4, 2]), np.ones([4, 1]), epochs=2, verbose=0).history,
    m.evaluate(np.ones([4, 2]), np.ones([4, 1]), verbose=0),
)

s = tf.keras.Sequential(name="s")
s.add(tf.keras.Input((2,)))
s.add(tf.keras.layers.Dense(2, name="d1"))
s.add(tf.keras.layers.Dense(1))
s.pop()
print(len(s.layers), s.output_shape)
s.summary()
print(
    s.layers[0].kernel.name,
    s.layers[0].input_spec,
    s.layers[0].bias.numpy(),
    s.layers[0].get_weights()[0].shape,
)

shared = tf.keras.layers.Dense(2, kernel_initializer="ones")
a = tf.keras.Input((3,))
b = tf.keras.Input((3,))
m = tf.keras.Model([a, b], tf.keras.layers.concatenate([shared(a), shared(b)]))
print(m([tf.ones([1, 3]), tf.zeros([1, 3])]))
m.summary()
m.compile("sgd", "mse")
m.fit([np.ones([2, 3]), np.ones([2, 3])], np.ones([2, 4]), verbose=0)
m = tf.keras.Model({"a": a, "b": b}, a + b)
print(m({"a": tf.ones([1, 3]), "b": tf.ones([1, 3])}))

bn = tf.keras.layers.BatchNormalization()
x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
print(bn(x, training=True), bn.moving_mean.numpy(), bn.moving_variance.numpy(), bn(x))
ln = tf.keras.layers.LayerNormalization()
print(ln(x), [w.name for w in bn.weights])

tf.keras.utils.set_random_seed(1)
d = tf.keras.layers.Dropout(0.5)
print(d(tf.ones([2, 4]), training=True), d(tf.ones([1, 2])))
print(tf.keras.utils.to_categorical([0, 2], 3))
print(
    tf.keras.layers.Embedding(5, 2, embeddings_initializer="ones")(tf.constant([[1, 2]])),
    tf.keras.layers.Flatten()(tf.ones([2, 3, 4])).shape,
    tf.keras.layers.Dense(2, use_bias=False, kernel_initializer="ones")(tf.ones([2, 3, 4])).shape,
    tf.keras.layers.Activation("relu")(tf.constant([-1.0])),
    tf.keras.layers.InputLayer((2,)).name,
)

tf.keras.utils.set_random_seed(5)


class TB(tf.keras.layers.Layer):
    def __init__(self, e, h, f):
        super().__init__()
        self.att = tf.keras.layers.MultiHeadAttention(h, e)
        self.ffn = tf.keras.Sequential([tf.keras.layers.Dense(f, "relu"), tf.keras.layers.Dense(e)])
        self.l1 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.l2 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.d1 = tf.keras.layers.Dropout(0.1)
        self.d2 = tf.keras.layers.Dropout(0.1)

    def call(self, x, training=None):
        a = self.d1(self.att(x, x), training=training)
        o = self.l1(x + a)
        return self.l2(o + self.d2(self.ffn(o), training=training))


class PE(tf.keras.layers.Layer):
    def __init__(self, n, v, e):
        super().__init__()
        self.t = tf.keras.layers.Embedding(v, e)
        self.p = tf.keras.layers.Embedding(n, e)

    def call(self, x):
        return self.t(x) + self.p(tf.range(tf.shape(x)[-1]))


i = tf.keras.Input((6,))
x = PE(6, 20, 8)(i)
x = TB(8, 2, 16)(x)
x = tf.keras.layers.GlobalAveragePooling1D()(x)
x = tf.keras.layers.Dropout(0.1)(x)
o = tf.keras.layers.Dense(2, activation="softmax")(x)
m = tf.keras.Model(i, o)
m.summary()
m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
h = m.fit(
    np.arange(48).reshape(8, 6) % 20,
    np.arange(8) % 2,
    batch_size=4,
    epochs=2,
    verbose=0,
    shuffle=False,
)
print(h.history)
