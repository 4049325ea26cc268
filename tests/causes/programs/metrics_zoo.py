import numpy as np, tensorflow as tf

rng = np.random.default_rng(0)
y = rng.integers(0, 2, (16, 1)).astype("float32")
p = rng.random((16, 1)).astype("float32")
yc = rng.integers(0, 5, (16,))
pc = rng.random((16, 5)).astype("float32")
K = tf.keras.metrics
ms = [
    (K.AUC(num_thresholds=50), y, p),
    (K.Precision(), y, p),
    (K.Recall(), y, p),
    (K.BinaryAccuracy(), y, p),
    (K.MeanSquaredError(), y, p),
    (K.MeanAbsoluteError(), y, p),
    (K.RootMeanSquaredError(), y, p),
    (K.SparseCategoricalAccuracy(), yc, pc),
    (K.SparseTopKCategoricalAccuracy(k=2), yc, pc),
    (K.CategoricalAccuracy(), np.eye(5)[yc].astype("float32"), pc),
    (K.MeanIoU(num_classes=2), y[:, 0], (p[:, 0] > 0.5).astype("float32")),
    (K.TruePositives(), y, p),
    (K.FalseNegatives(), y, p),
    (K.CosineSimilarity(), pc, pc),
    (K.KLDivergence(), pc, pc),
    (K.SpecificityAtSensitivity(0.5), y, p),
    (K.PrecisionAtRecall(0.5), y, p),
]
mean = K.Mean()
s = K.Sum()
for step in range(3):
    for m, a, b in ms:
        m.update_state(a, b)
    mean.update_state(tf.reduce_mean(tf.constant(p) ** 2))
    s.update_state(p)
    mean(1.5)
print(
    [float(np.mean(np.array(m.result()))) for m, _, _ in ms],
    float(mean.result()),
    float(s.result()),
)
for m, _, _ in ms:
    (m.reset_state if hasattr(m, "reset_state") else m.reset_states)()
x = tf.matmul(tf.constant(p), tf.constant(p), transpose_a=True)
print(x.shape, float(tf.reduce_sum(x)))
w = tf.constant([1.0, 2.0])
print(float(tf.norm(w)))
