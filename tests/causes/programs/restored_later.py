import tensorflow as tf, tempfile, os, numpy as np


class Late(tf.Module):
    def build(self):
        self.w = tf.Variable(tf.ones((3, 2)), name="w")
        self.b = tf.Variable(tf.zeros(2), name="b")
        return self


one = Late().build()
path = tf.train.Checkpoint(late=one).save(os.path.join(tempfile.mkdtemp(), "ck"))
two = Late()
status = tf.train.Checkpoint(late=two).restore(path)
two.build()
print(float(tf.reduce_sum(two.w)))


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d = tf.keras.layers.Dense(4)
        self.e = tf.keras.layers.Dense(2)

    def call(self, x):
        return self.e(self.d(x))


n = Net()
x = tf.constant(np.ones((2, 3), "float32"))
n(x)
p = tf.train.Checkpoint(n=n).save(os.path.join(tempfile.mkdtemp(), "n"))
k = Net()
tf.train.Checkpoint(n=k).restore(p)
print(float(tf.reduce_sum(k(x) - n(x))))
opt = tf.keras.optimizers.Adam()
ck = tf.train.Checkpoint(n=n, opt=opt)
mg = tf.train.CheckpointManager(ck, tempfile.mkdtemp(), max_to_keep=2)
for i in range(3):
    with tf.GradientTape() as t:
        l = tf.reduce_mean(n(x) ** 2)
    opt.apply_gradients(zip(t.gradient(l, n.trainable_variables), n.trainable_variables))
    mg.save()
ck.restore(mg.latest_checkpoint)
print(float(l))
