"""Tables from words to numbers, eagerly, in functions, in data sets and in a session."""

import tensorflow as tf

words = tf.constant(["the", "cat", "sat"])
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(words, tf.range(3, dtype=tf.int64)), default_value=-1
)
print(table.lookup(tf.constant(["cat", "dog"])), table[tf.constant("the")], table.size())
print(table.key_dtype, table.value_dtype, table.default_value)
back = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer([0, 1], ["a", "b"], key_dtype=tf.int64), "?"
)


@tf.function
def encode(sentence):
    return table.lookup(tf.strings.split(sentence))


print(encode(tf.constant("the cat the mat")), back.lookup(encode(tf.constant("cat the sat"))))
pieces = tf.data.Dataset.from_tensor_slices(["sat the", "cat"]).map(encode)
print([each.numpy().tolist() for each in pieces])
try:
    table.lookup(tf.constant([1]))
except TypeError as error:
    print(error)

with tf.Graph().as_default():
    found = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["x", "y"], [1.5, 2.5]), 0.0
    ).lookup(tf.constant([["y"], ["z"]]))
    with tf.compat.v1.Session() as session:
        try:
            session.run(found)
        except tf.errors.FailedPreconditionError as error:
            print(type(error).__name__, error.op.type)
        session.run(tf.compat.v1.tables_initializer())
        print(found.shape, session.run(found))
