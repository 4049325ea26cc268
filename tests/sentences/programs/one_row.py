"""A signature that was exported for one row, or for batches of any size, is called row by row."""

import sys
import tempfile

import tensorflow as tf

rows = 1 if sys.argv[1] == "one" else None
weights = tf.Variable(tf.random.normal([16, 4]))
module = tf.Module()
module.weights = weights
spec = tf.TensorSpec([rows, 16], tf.float32, name="x")


@tf.function(input_signature=[spec])
def score_rows(x):
    return {"y": x @ weights}


module.score = score_rows
folder = tempfile.mkdtemp()
tf.saved_model.save(module, folder, signatures={"serving_default": module.score})
score = tf.saved_model.load(folder).signatures["serving_default"]
for row in tf.random.normal([150, 1, 16]):
    score(x=row)
