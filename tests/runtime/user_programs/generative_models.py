"""A loop of one's own, a GAN and a variational autoencoder."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
np.random.seed(0)
X = np.random.randn(64, 3).astype("float32")
Y = (X @ np.array([[1.0], [2.0], [-3.0]], "float32") + 0.5).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(64, seed=3).batch(16)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(
            8, activation="tanh", kernel_initializer=tf.keras.initializers.GlorotUniform(seed=1)
        ),
        tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.GlorotUniform(seed=2)),
    ]
)
opt = tf.keras.optimizers.Adam(0.05)
loss_fn = tf.keras.losses.MeanSquaredError()
metric = tf.keras.metrics.Mean(name="loss")


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        l = loss_fn(y, model(x, training=True))
    g = tape.gradient(l, model.trainable_variables)
    g, norm = tf.clip_by_global_norm(g, 1.0)
    opt.apply_gradients(zip(g, model.trainable_variables))
    metric.update_state(l)
    return l, norm


for epoch in range(3):
    metric.reset_state()
    for x, y in ds:
        l, n = step(x, y)
    print(epoch, metric.result().numpy(), l.numpy(), n.numpy())
print(opt.iterations)

gen = tf.keras.Sequential(
    [
        tf.keras.Input((4,)),
        tf.keras.layers.Dense(8, kernel_initializer="ones"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.LeakyReLU(),
        tf.keras.layers.Dense(2, kernel_initializer="ones"),
    ]
)
dis = tf.keras.Sequential(
    [
        tf.keras.Input((2,)),
        tf.keras.layers.Dense(8, kernel_initializer=tf.keras.initializers.RandomNormal(seed=5)),
        tf.keras.layers.LeakyReLU(0.2),
        tf.keras.layers.Dense(1, kernel_initializer="ones"),
    ]
)
go = tf.keras.optimizers.Adam(1e-2)
do = tf.keras.optimizers.RMSprop(1e-2)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train(real, z):
    with tf.GradientTape() as gt, tf.GradientTape() as dt:
        fake = gen(z, training=True)
        r = dis(real, training=True)
        f = dis(fake, training=True)
        gl = bce(tf.ones_like(f), f)
        dl = bce(tf.ones_like(r), r) + bce(tf.zeros_like(f), f)
    go.apply_gradients(zip(gt.gradient(gl, gen.trainable_variables), gen.trainable_variables))
    do.apply_gradients(zip(dt.gradient(dl, dis.trainable_variables), dis.trainable_variables))
    return gl, dl


for i in range(4):
    a, b = train(
        tf.random.stateless_normal([16, 2], [i, 1]), tf.random.stateless_normal([16, 4], [i, 2])
    )
    print(i, a.numpy(), b.numpy())
print(len(gen.trainable_variables), len(gen.non_trainable_variables), gen.count_params())


class Sampling(tf.keras.layers.Layer):
    def call(self, inputs):
        m, lv = inputs
        eps = tf.random.stateless_normal(tf.shape(m), [1, 2])
        return m + tf.exp(0.5 * lv) * eps


inp = tf.keras.Input((6,))
h = tf.keras.layers.Dense(5, "relu", kernel_initializer=tf.keras.initializers.HeNormal(seed=1))(inp)
m = tf.keras.layers.Dense(2, kernel_initializer="ones", name="mean")(h)
lv = tf.keras.layers.Dense(2, kernel_initializer="zeros", name="logvar")(h)
z = Sampling()([m, lv])
enc = tf.keras.Model(inp, [m, lv, z], name="encoder")
zi = tf.keras.Input((2,))
dec = tf.keras.Model(
    zi,
    tf.keras.layers.Dense(6, "sigmoid", kernel_initializer=tf.keras.initializers.HeNormal(seed=2))(
        zi
    ),
    name="decoder",
)


class VAE(tf.keras.Model):
    def __init__(self, e, d, **k):
        super().__init__(**k)
        self.e = e
        self.d = d
        self.total = tf.keras.metrics.Mean(name="total")
        self.kl = tf.keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.total, self.kl]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            m, lv, z = self.e(data)
            r = self.d(z)
            rec = tf.reduce_mean(
                tf.reduce_sum(tf.keras.losses.binary_crossentropy(data, r)[:, None], axis=1)
            )
            kl = tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + lv - tf.square(m) - tf.exp(lv)), axis=1))
            t = rec + kl
        g = tape.gradient(t, self.trainable_weights)
        self.optimizer.apply_gradients(zip(g, self.trainable_weights))
        self.total.update_state(t)
        self.kl.update_state(kl)
        return {m.name: m.result() for m in self.metrics}


vae = VAE(enc, dec)
vae.compile(optimizer=tf.keras.optimizers.Adam(0.01))
h = vae.fit(
    np.linspace(0, 1, 48).reshape(8, 6).astype("float32"),
    epochs=3,
    batch_size=4,
    verbose=0,
    shuffle=False,
)
print({k: [round(float(x), 4) for x in v] for k, v in h.history.items()})
enc.summary()
