import tensorflow as tf

tf.keras.utils.set_random_seed(3)
vocab = {w: i for i, w in enumerate(["the", "cat", "sat", "on", "mat", "dog", "ran"])}
docs = ["the cat sat", "the dog ran", "cat on mat", "dog sat on the mat"]
ids = [[vocab[w] for w in d.split()] for d in docs]
x = tf.constant([i + [0] * (5 - len(i)) for i in ids])
table = tf.Variable(tf.random.normal([len(vocab), 4], seed=5))
emb = tf.nn.embedding_lookup(table, x)
mask = tf.sequence_mask([len(i) for i in ids], 5, dtype=tf.float32)
mean = tf.reduce_sum(emb * mask[..., None], 1) / tf.reduce_sum(mask, 1, keepdims=True)
print(mean.numpy().round(3))
labels = tf.constant([0, 1, 0, 1])
model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(len(vocab), 8, mask_zero=False),
        tf.keras.layers.LSTM(6),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(
    tf.keras.optimizers.SGD(0.5, momentum=0.9),
    tf.keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
h = model.fit(x, labels, epochs=3, verbose=0)
print([round(v, 3) for v in h.history["loss"]])
print(model(x).numpy().round(3).ravel())
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.nn.embedding_lookup(table, [0, 0, 2]) ** 2)
g = tape.gradient(loss, table)
print(type(g).__name__, g.indices.numpy(), tf.convert_to_tensor(g).numpy().round(3)[:3])
opt = tf.keras.optimizers.Adam(0.1)
opt.apply_gradients([(g, table)])
print(table.numpy().round(3)[:3])
cos = tf.keras.losses.cosine_similarity(emb[0, 0], emb[0, 1])
print(cos)
print(tf.math.top_k(mean[:, 0], 2), tf.argsort(mean[:, 1]), tf.nn.l2_normalize(mean, 1)[0])
print(tf.strings.join(docs[:2], separator="|"))
print(
    tf.random.uniform([3], seed=1),
    tf.random.normal([2], seed=2),
    tf.random.truncated_normal([2], seed=3),
    tf.random.shuffle([1, 2, 3, 4], seed=4),
)
print(
    tf.random.categorical(tf.math.log([[0.5, 0.5]]), 5, seed=1),
    tf.random.uniform([3], 0, 10, tf.int32, seed=7),
)
print(
    tf.random.stateless_normal([2], seed=[1, 2]),
    tf.random.stateless_uniform([2], seed=[1, 2], minval=1, maxval=5, dtype=tf.int32),
)
print(tf.nn.dropout(tf.ones([8]), 0.5, seed=1))
