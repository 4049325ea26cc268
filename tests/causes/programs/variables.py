import numpy as np, tensorflow as tf, tempfile, os

v = tf.Variable(tf.zeros(4))
w = tf.Variable(np.ones((2, 2), "float32"))
c = tf.Variable(0)
s = tf.Variable(3.0)
r = tf.Variable(tf.random.normal((3, 3)))
u = tf.Variable([1.0])
v.assign(tf.ones(4))
v.assign_add(tf.ones(4))
v.assign_sub(tf.ones(4) * 0.5)
c.assign_add(1)
v[1:3].assign([5.0, 6.0])
print(
    v.numpy(),
    float(s),
    (s * 2).numpy(),
    tf.reduce_sum(w).numpy(),
    v.read_value().numpy(),
    (w @ w).numpy(),
    u + 1,
)
ini = tf.keras.initializers.GlorotUniform()
k = tf.Variable(ini((3, 4)))
k2 = tf.Variable(lambda: tf.random.truncated_normal((2, 2)))
o = tf.Variable(tf.keras.initializers.Orthogonal()((3, 3)))
tn = tf.Variable(tf.keras.initializers.HeNormal()((3, 3)))
sc = tf.Variable(tf.scalar_mul(2.0, tf.ones(3)))
ck = tf.train.Checkpoint(v=v, w=w, c=c)
path = ck.save(os.path.join(tempfile.mkdtemp(), "ck"))
v.assign(tf.zeros(4))
ck.restore(path)
print(v.numpy())
sp = tf.tensor_scatter_nd_update(tf.zeros(4), [[1]], [2.0])
v.scatter_nd_update([[0]], [9.0])
print(sp.numpy(), v.numpy(), v.sparse_read([0, 1]).numpy())


class Mod(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.random.uniform((2, 2)), name="w")
        self.b = None

    @tf.function
    def __call__(self, x):
        if self.b is None:
            self.b = tf.Variable(tf.zeros(2))
        return x @ self.w + self.b


m = Mod()
for i in range(3):
    print(m(tf.ones((1, 2))).numpy())
g = tf.random.Generator.from_seed(3)
print(
    g.normal((2,)).shape, tf.random.stateless_normal((2,), seed=(1, 2)).shape, g.uniform((2,)).shape
)
t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
print(t.lookup(tf.constant(["a", "z"])).numpy())
del v
ta = tf.TensorArray(tf.float32, 3)
for i in range(3):
    ta = ta.write(i, tf.fill((2,), float(i)))
print(ta.stack().numpy())
