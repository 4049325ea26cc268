import tensorflow as tf

tf.random.set_seed(0)


class Norm(tf.Module):
    def __init__(self, n):
        self.g = tf.Variable(tf.ones([n]))
        self.b = tf.Variable(tf.zeros([n]))

    def __call__(self, x):
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        var = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
        return self.g * (x - mean) / tf.sqrt(var + 1e-6) + self.b


class Dense(tf.Module):
    def __init__(self, i, o):
        self.w = tf.Variable(tf.random.truncated_normal([i, o], stddev=0.02))
        self.b = tf.Variable(tf.zeros([o]))

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


class Block(tf.Module):
    def __init__(self, d, h):
        self.d, self.h = d, h
        self.q, self.k, self.v, self.o = [Dense(d, d) for _ in range(4)]
        self.n1, self.n2 = Norm(d), Norm(d)
        self.f1, self.f2 = Dense(d, 2 * d), Dense(2 * d, d)

    def split(self, x):
        b, t = tf.shape(x)[0], tf.shape(x)[1]
        return tf.transpose(tf.reshape(x, [b, t, self.h, self.d // self.h]), [0, 2, 1, 3])

    def __call__(self, x, training):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        s = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(tf.cast(self.d // self.h, tf.float32))
        a = tf.nn.softmax(s, axis=-1)
        c = tf.reshape(tf.transpose(tf.matmul(a, v), [0, 2, 1, 3]), [tf.shape(x)[0], -1, self.d])
        c = self.o(c)
        if training:
            c = tf.nn.dropout(c, 0.1)
        x = self.n1(x + c)
        return self.n2(x + self.f2(tf.nn.relu(self.f1(x))))


blocks = [Block(32, 4) for _ in range(2)]
emb = tf.Variable(tf.random.normal([50, 32]))
head = Dense(32, 3)


def forward(ids, training):
    x = tf.gather(emb, ids)
    for b in blocks:
        x = b(x, training)
    return head(tf.reduce_mean(x, axis=1))


params = [emb] + [v for b in blocks for v in b.trainable_variables] + list(head.trainable_variables)
ms = [tf.Variable(tf.zeros_like(p), trainable=False) for p in params]


@tf.function(
    input_signature=[tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int64)]
)
def step(ids, labels):
    with tf.GradientTape() as t:
        logits = forward(ids, True)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
    grads = t.gradient(loss, params)
    for p, m, g in zip(params, ms, grads):
        m.assign(0.9 * m + tf.convert_to_tensor(g))
        p.assign_sub(0.01 * m)
    return loss


@tf.function
def predict(ids):
    return tf.argmax(forward(ids, False), axis=-1)


ids = tf.constant([[i * 7 % 50 + j for j in range(10)] for i in range(6)]) % 50
for _ in range(3):
    loss = step(ids, tf.constant([0, 1, 2, 0, 1, 2], tf.int64))
print(predict(ids).shape, loss.shape)
predict(ids[:2])
