"""A SavedModel: made, saved, loaded, and served through its signature."""
import truth
import tempfile
import tensorflow as tf


class Scorer(tf.Module):
    def __init__(self):
        self.w1 = tf.Variable(tf.random.stateless_normal((10, 32), seed=(1, 2)))
        self.w2 = tf.Variable(tf.random.stateless_normal((32, 3), seed=(3, 4)))

    @tf.function(input_signature=[tf.TensorSpec((None, 10), tf.float32)])
    def score(self, x):
        truth.traced("score")
        return {"scores": tf.nn.softmax(tf.matmul(tf.nn.relu(tf.matmul(x, self.w1)), self.w2))}


folder = tempfile.mkdtemp()
scorer = Scorer()
with truth.call("score"):
    scorer.score(tf.ones((2, 10)))
with truth.phase("save"):
    tf.saved_model.save(scorer, folder, signatures=scorer.score)
with truth.phase("load"):
    loaded = tf.saved_model.load(folder)
serve = loaded.signatures["serving_default"]
for i in range(6):
    with truth.call("signature"):
        serve(x=tf.ones((4, 10)))
for i in range(3):
    with truth.call("loaded score"):
        loaded.score(tf.ones((2, 10)))
truth.known("score is traced once for the call; saving traces its signature wrapper; loading restores both from the file", traces_of_score=1, failures=0)
