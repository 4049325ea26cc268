"""An AUC is updated after each of twelve compiled steps (`beside`), or in the step (`inside`)."""
import sys
import truth
import tensorflow as tf

auc, w = tf.keras.metrics.AUC(), tf.Variable(tf.ones((4, 1)))
x, y = tf.random.normal((16, 4)), tf.round(tf.random.uniform((16, 1)))
inside = sys.argv[1] == "inside"


@tf.function
def step(x, y):
    p = tf.sigmoid(tf.matmul(x, w))
    w.assign_sub(0.1 * tf.matmul(x, p - y, transpose_a=True))
    if inside:
        auc.update_state(y, p)
    return p


for _ in range(12):
    with truth.call("step"):
        p = step(x, y)
    if not inside:
        auc.update_state(y, p)
truth.known("an AUC is updated after each step, outside any function" * (not inside) or "an AUC is updated in each step", calls=12)
