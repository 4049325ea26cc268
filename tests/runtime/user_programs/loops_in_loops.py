"""Gradients through loops in loops, sizes that are not known, a tensor used densely and by rows."""

import tensorflow as tf

table = tf.Variable(tf.reshape(tf.range(12.0), [4, 3]) / 10.0)


@tf.function
def nested(x, steps):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in tf.range(steps):
            for _ in tf.range(i + 1):
                y = tf.tanh(y @ table[:3])
        loss = tf.reduce_sum(y)
    return loss, tape.gradient(loss, [x, table])


@tf.function
def rows_and_whole(ids):
    with tf.GradientTape() as tape:
        rows = tf.gather(table, ids)
        scores = tf.matmul(rows, table, transpose_b=True)
        loss = tf.reduce_mean(tf.nn.log_softmax(scores)) + tf.reduce_mean(rows)
    return tape.gradient(loss, table)


@tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None])])
def any_size(x, y):
    with tf.GradientTape() as tape:
        tape.watch(x)
        same = tf.reshape(tf.square(x), [tf.shape(x)[0], 3]) * y[:, None]
        loss = tf.reduce_mean(tf.reduce_sum(same, 1) / y)
    return tape.gradient(loss, x)


@tf.function
def one_of_each(x, which):
    with tf.GradientTape() as tape:
        tape.watch(x)
        taken = tf.gather(x, which, batch_dims=1)
        total = tf.reduce_sum(taken * taken)
    return taken, tape.gradient(total, x)


taken, slope = one_of_each(tf.reshape(tf.range(6.0), [2, 3]), tf.constant([2, 0]))
print(taken.numpy(), slope.numpy().tolist())
loss, slopes = nested(tf.ones([2, 3]), tf.constant(3))
print(f"{float(loss):.5f}", [slope.numpy().round(5).tolist() for slope in slopes])
print(rows_and_whole(tf.constant([0, 2, 2])).numpy().round(5).tolist())
for size in (1, 4):
    ys = tf.range(1.0, size + 1.0)
    print(any_size(tf.ones([size, 3]) * 0.5, ys).numpy().round(5).tolist())
drop = tf.keras.layers.SpatialDropout2D(0.5, seed=1)
out = tf.function(
    lambda x: drop(x, training=True), input_signature=[tf.TensorSpec([None, 4, 4, 6])]
)
image = out(tf.ones([2, 4, 4, 6])).numpy()
print(image.shape, bool((image == image[:, :1, :1]).all()))
auc = tf.keras.metrics.AUC(num_thresholds=7)
auc.update_state([0, 1, 1, 0, 1], [0.1, 0.5, 0.9, 0.6, 1.0])
print(f"{float(auc.result()):.5f}")
