"""Categories and windows into rows; a curve for each label; what models keep in dicts and lists."""

import unittest

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
for mode in ("one_hot", "multi_hot", "count"):
    encode = tf.keras.layers.CategoryEncoding(num_tokens=4, output_mode=mode)
    print(mode, encode(tf.constant([[0], [3]] if mode == "one_hot" else [[0, 1], [3, 3]])).numpy())
    print(encode(tf.constant([2, 2, 1])).shape, encode.get_config()["num_tokens"])
for wrong in ({"num_tokens": None}, {"num_tokens": 0}, {"num_tokens": 2, "output_mode": "int"}):
    try:
        tf.keras.layers.CategoryEncoding(**wrong)
    except ValueError as error:
        print("ValueError:", error)
try:
    tf.keras.layers.CategoryEncoding(3)(tf.constant([[1, 3]]))
except tf.errors.InvalidArgumentError as error:
    print("range" in str(error))
images = np.arange(2 * 4 * 6 * 1, dtype="float32").reshape(2, 4, 6, 1)
for kind in ("bilinear", "nearest"):
    resized = tf.keras.layers.Resizing(2, 3, interpolation=kind)
    print(resized(images).numpy()[0, ..., 0], resized.get_config()["interpolation"])
for given, wanted in (
    (np.array([[[0], [51], [255]]], np.uint8), tf.float32),
    (np.array([[[0.1], [0.5], [1.0]]], np.float32), tf.uint8),
    (np.array([[[1], [127]]], np.int8), tf.int16),
    (np.array([[[1000], [32000]]], np.int16), tf.uint8),
    (np.array([[[0.5]]], np.float32), tf.float64),
    (np.array([[[0.5]]], np.float32), tf.float32),
):
    print(tf.image.convert_image_dtype(given, wanted))
print(tf.image.convert_image_dtype([[[-0.5], [2.0]]], tf.uint8, saturate=True).numpy().ravel())
try:
    tf.image.convert_image_dtype([[[1.0]]], tf.string)
except AttributeError as error:
    print("AttributeError:", error)

rows = np.arange(12)
of_array = tf.keras.utils.timeseries_dataset_from_array
for options in (
    {"sequence_length": 3, "batch_size": 4},
    {"sequence_length": 3, "sequence_stride": 2, "sampling_rate": 2, "batch_size": 3},
    {"sequence_length": 2, "batch_size": None, "start_index": 3, "end_index": 8},
    {"sequence_length": 4, "batch_size": 4, "shuffle": True, "seed": 5},
):
    print(options)
    for window, target in of_array(rows, rows + 100, **options):
        print(window.numpy().tolist(), target.numpy().tolist())
print([batch.shape for batch in of_array(rows.reshape(6, 2), None, 2, batch_size=2)])
for wrong in (
    {"sequence_stride": 0}, {"sampling_rate": 12}, {"start_index": -1}, {"start_index": 20},
    {"end_index": 13}, {"start_index": 4, "end_index": 3}, {"end_index": -2},
):  # fmt: skip
    try:
        of_array(rows, None, 3, **wrong)
    except ValueError as error:
        print("ValueError:", error)

labels = (np.random.rand(30, 3) > 0.5).astype("float32")
said = np.clip(labels * 0.3 + np.random.rand(30, 3) * 0.7, 0, 1).astype("float32")
for options in ({}, {"num_labels": 3, "curve": "PR"}, {"summation_method": "minoring"}):
    area = tf.keras.metrics.AUC(multi_label=True, num_thresholds=20, **options)
    print(len(area.variables))
    area.update_state(labels[:20], said[:20])
    area.update_state(labels[20:], said[20:], np.linspace(0, 1, 10)[:, None])
    print(f"{area.result():.5f}", [each.shape.as_list() for each in area.variables])
    area.reset_state()
    print(area.result().numpy(), area.name)
for wrong in ({"num_labels": 2}, {"multi_label": True}):
    try:
        tf.keras.metrics.AUC(**wrong).update_state(labels[:, 0], said[:, 0])
    except ValueError as error:
        print("ValueError:", error)


class Kept(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.steps = tf.Variable(0, trainable=False, name="steps")
        self.sums = [tf.Variable(0.0, trainable=False, name="sum"), tf.Variable(1.0, name="scale")]
        self.heads = {"b": tf.keras.layers.Dense(2, name="b"), "a": tf.keras.layers.Dense(1)}

    def call(self, inputs):
        return self.heads["b"](inputs) * self.sums[1] + self.heads["a"](inputs)


model = Kept()
model(tf.ones([1, 3]))
print([each.name for each in model.layers], [each.name for each in model.submodules])
print([each.name for each in model.weights])
print([each.name for each in model.trainable_weights])
inner = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))], name="inner")
outer = tf.keras.Sequential([inner, tf.keras.layers.Dense(1)], name="outer")
tf.keras.Sequential([outer, tf.keras.layers.ReLU()], name="outmost").summary(expand_nested=True)
inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, tf.keras.layers.Dense(3, activation="sigmoid")(inputs))
model.compile(
    "sgd", "mse", [tf.keras.metrics.AUC(multi_label=True), tf.keras.metrics.Recall([0.3, 0.5])]
)
history = model.fit(labels, labels, epochs=2, verbose=0).history
print({name: np.round(values, 3).tolist() for name, values in history.items()})


class Checks(tf.test.TestCase):
    def test_assertions(self):
        self.assertLen([1, 2], 2)
        self.assertEmpty(())
        self.assertNotEmpty("a")
        self.assertNotAllClose([1.0], [1.1])
        self.assertNotAllEqual(tf.constant([1, 2]), [1, 3])
        self.assertDTypeEqual(tf.zeros([2]), np.float32)
        for check, arguments in (
            (self.assertLen, ([1], 2)), (self.assertEmpty, ([1],)), (self.assertNotEmpty, ([],)),
            (self.assertNotAllClose, ([1.0], [1.0])), (self.assertNotAllEqual, ([1], [1])),
        ):  # fmt: skip
            with self.assertRaises(AssertionError) as raised:
                check(*arguments)
            if check in (self.assertLen, self.assertEmpty, self.assertNotEmpty):
                print(raised.exception)


done = unittest.TestResult()
Checks("test_assertions").run(done)
print(done.testsRun, done.failures, done.errors)
