"""The masks of MultiHeadAttention: of queries, values and keys, causal and given."""

import tensorflow as tf

tf.keras.utils.set_random_seed(2)
words = tf.constant([[1, 2, 3, 0], [4, 5, 0, 0]])
others = tf.constant([[3, 1, 0], [2, 2, 2]])
embedding = tf.keras.layers.Embedding(6, 4, mask_zero=True)
attention = tf.keras.layers.MultiHeadAttention(2, 3)
query, value = embedding(words), embedding(others)
plain, given = tf.identity(query), tf.ones((2, 4, 3))
for name, arguments in {
    "masked": {},
    "causal": {"use_causal_mask": True},
    "given": {"attention_mask": given},
    "of two dimensions": {"attention_mask": [[1, 0, 1], [1, 1, 1], [0, 1, 1], [1, 1, 0]]},
    "all": {"attention_mask": given, "use_causal_mask": True},
}.items():
    if "attention_mask" in arguments:
        arguments["attention_mask"] = tf.constant(arguments["attention_mask"])
    for first in (query, plain):

        @tf.function
        def attend():
            return attention(first, value, return_attention_scores=True, **arguments)

        output, scores = attention(first, value, return_attention_scores=True, **arguments)
        print(name, output.shape, scores.numpy().round(3).tolist())
        nodes = [each.name for each in attend.get_concrete_function().graph.get_operations()]
        print([each for each in nodes if "strided_slice" in each or "/and" in each])
plain_value = tf.identity(value)
mask = tf.constant([[1, 0, 1], [1, 1, 1], [0, 1, 1], [1, 1, 0]])
traced = tf.function(lambda: attention(plain, plain_value, attention_mask=mask))
print(traced().shape)
nodes = [each.name for each in traced.get_concrete_function().graph.get_operations()]
print([each for each in nodes if "Expand" in each])
