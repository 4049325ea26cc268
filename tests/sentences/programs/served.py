"""A SavedModel that is loaded, and whose signature is called twelve times."""
import tempfile
import tensorflow as tf
class Net(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones((5, 2)))
    @tf.function(input_signature=[tf.TensorSpec((None, 5), tf.float32)])
    def score(self, x):
        return tf.matmul(x, self.w)
net, folder = Net(), tempfile.mkdtemp()
tf.saved_model.save(net, folder, signatures=net.score)
served = tf.saved_model.load(folder).signatures["serving_default"]
x = tf.ones((3, 5))
for _ in range(12):
    served(x=x)
