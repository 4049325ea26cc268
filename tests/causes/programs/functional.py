import numpy as np, tensorflow as tf

L = tf.keras.layers
i = L.Input((8, 8, 1))
h = L.Conv2D(4, 3, activation="relu")(i)
h = L.Flatten()(h)
a = L.Dense(4)(h)
b = L.Dense(4, activation="tanh")(h)
o = L.Dense(2)(L.Concatenate()([a, b]))
e = L.Dense(1, name="aux")(L.Add()([a, b]))
m = tf.keras.Model(i, [o, e])
m.compile("adam", ["mse", "mae"])
x = np.random.rand(32, 8, 8, 1).astype("float32")
ys = [np.random.rand(32, 2).astype("float32"), np.random.rand(32, 1).astype("float32")]
m.fit(x, ys, epochs=2, batch_size=8, verbose=0)
print([p.shape for p in m.predict(x, verbose=0)])


def gen():
    while True:
        yield x[:8], (ys[0][:8], ys[1][:8])


m.fit(gen(), steps_per_epoch=3, epochs=2, verbose=0)
ds = tf.data.Dataset.from_tensor_slices((x, tuple(ys))).batch(8)
m.compile("adagrad", ["mse", "mae"], metrics=None)
m.fit(ds, epochs=1, verbose=0, validation_data=ds)
m.evaluate(ds, verbose=0)
ws = m.get_weights()
m.set_weights(ws)
m.save_weights("vv.weights.h5")
m.load_weights("vv.weights.h5")
try:
    c = tf.keras.models.clone_model(m)
    print(c(x[:2])[0].shape)
except Exception as ex:
    print(ex)
