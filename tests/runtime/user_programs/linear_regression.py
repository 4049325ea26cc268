import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
X = rng.normal(size=(64, 3)).astype(np.float32)
true_w = np.array([[1.5], [-2.0], [0.5]], np.float32)
y = X @ true_w + 0.3 + 0.01 * rng.normal(size=(64, 1)).astype(np.float32)


class LinearModel(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(tf.zeros([3, 1]), name="w")
        self.b = tf.Variable(0.0, name="b")

    def __call__(self, x):
        return x @ self.w + self.b


model = LinearModel()
print([v.name for v in model.trainable_variables], [v.shape for v in model.variables])


def loss_fn(pred, target):
    return tf.reduce_mean(tf.square(pred - target))


@tf.function
def train_step(x, t, lr):
    with tf.GradientTape() as tape:
        loss = loss_fn(model(x), t)
    grads = tape.gradient(loss, model.trainable_variables)
    for g, v in zip(grads, model.trainable_variables):
        v.assign_sub(lr * g)
    return loss


ds = tf.data.Dataset.from_tensor_slices((X, y)).shuffle(64, seed=1).batch(16).repeat(5)
for step, (xb, yb) in enumerate(ds):
    l = train_step(xb, yb, 0.1)
    if step % 4 == 0:
        print(step, float(l))
print(model.w.numpy().ravel(), model.b.numpy())
tf.print("final w:", model.w, "b:", model.b)
print(model.w)
print(train_step.experimental_get_tracing_count())
