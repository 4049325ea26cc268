import numpy as np
import tensorflow as tf

tf.random.set_seed(3)
rng = np.random.RandomState(0)
xs = rng.rand(64, 3).astype("float32")
ys = (xs @ np.array([[1.5], [-2.0], [0.5]], "float32") + 0.3).astype("float32")


class Linear(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.random.normal([3, 1]), name="w")
        self.b = tf.Variable(0.0, name="b")

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


model = Linear()


def loss_fn(y, p):
    return tf.reduce_mean(tf.square(y - p))


@tf.function
def train(x, y, lr):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    dw, db = tape.gradient(loss, [model.w, model.b])
    model.w.assign_sub(lr * dw)
    model.b.assign_sub(lr * db)
    return loss


ds = tf.data.Dataset.from_tensor_slices((xs, ys)).shuffle(64, seed=1).batch(16)
for epoch in range(2):
    for x, y in ds:
        loss = train(x, y, tf.constant(0.1))
    print("epoch", epoch, float(loss))
with tf.GradientTape() as tape:
    l = loss_fn(ys, model(xs))
g = tape.gradient(l, model.trainable_variables)
print([v.shape for v in g])
print(np.round(model.w.numpy().ravel(), 3))
