import tensorflow as tf

tf.keras.utils.set_random_seed(42)


def scaled_dot_product_attention(q, k, v, mask=None):
    matmul_qk = tf.matmul(q, k, transpose_b=True)
    dk = tf.cast(tf.shape(k)[-1], tf.float32)
    logits = matmul_qk / tf.math.sqrt(dk)
    if mask is not None:
        logits += mask * -1e9
    weights = tf.nn.softmax(logits, axis=-1)
    return tf.matmul(weights, v), weights


class MultiHeadAttention(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.d_model = d_model
        self.depth = d_model // num_heads
        self.wq = tf.keras.layers.Dense(d_model)
        self.wk = tf.keras.layers.Dense(d_model)
        self.wv = tf.keras.layers.Dense(d_model)
        self.dense = tf.keras.layers.Dense(d_model)

    def split_heads(self, x, batch_size):
        x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def call(self, v, k, q, mask=None):
        batch_size = tf.shape(q)[0]
        q = self.split_heads(self.wq(q), batch_size)
        k = self.split_heads(self.wk(k), batch_size)
        v = self.split_heads(self.wv(v), batch_size)
        att, weights = scaled_dot_product_attention(q, k, v, mask)
        att = tf.transpose(att, perm=[0, 2, 1, 3])
        concat = tf.reshape(att, (batch_size, -1, self.d_model))
        return self.dense(concat), weights


class Block(tf.keras.layers.Layer):
    def __init__(self, d_model, heads, dff, rate=0.1):
        super().__init__()
        self.mha = MultiHeadAttention(d_model, heads)
        self.ffn = tf.keras.Sequential(
            [tf.keras.layers.Dense(dff, activation="gelu"), tf.keras.layers.Dense(d_model)]
        )
        self.ln1 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.ln2 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.drop = tf.keras.layers.Dropout(rate)

    def call(self, x, training=False, mask=None):
        a, w = self.mha(x, x, x, mask)
        a = self.drop(a, training=training)
        h = self.ln1(x + a)
        f = self.ffn(h)
        return self.ln2(h + self.drop(f, training=training)), w


x = tf.random.normal((2, 5, 16))
mask = 1 - tf.linalg.band_part(tf.ones((5, 5)), -1, 0)
block = Block(16, 4, 32)
out, w = block(x, mask=mask)
print(out.shape, w.shape)
print(out[0, :2, :4].numpy())
print(w[0, 0].numpy().round(4))
print(len(block.trainable_variables), sum(int(tf.size(v)) for v in block.trainable_variables))
opt = tf.keras.optimizers.Adam(1e-2)
target = tf.random.uniform((2, 5, 16), seed=3)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        out, _ = block(x, training=True, mask=mask)
        loss = tf.reduce_mean(tf.keras.losses.mse(y, out))
    g = tape.gradient(loss, block.trainable_variables)
    g, norm = tf.clip_by_global_norm(g, 1.0)
    opt.apply_gradients(zip(g, block.trainable_variables))
    return loss, norm


for i in range(5):
    l, n = step(x, target)
    print(i, f"{float(l):.4f} {float(n):.4f}")
