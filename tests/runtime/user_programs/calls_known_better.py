"""What a call gives is known as well as its arguments are."""

import tensorflow as tf

Spec = tf.TensorSpec
w = tf.Variable(tf.ones([3, 4]))


@tf.function(input_signature=[Spec([None, 3])])
def pairs(x):
    return tf.reshape(x @ w, [tf.shape(x)[0], 2, 2])


@tf.function(input_signature=[Spec([None, 3])])
def nested(x):
    return pairs(x)


@tf.function(input_signature=[Spec([None, 3])])
def looping(x):
    while tf.reduce_sum(x) < 10.0:
        x = x * 2.0
    return x


@tf.function(input_signature=[Spec([None])])
def sized(lengths):
    return tf.zeros(tf.cast(lengths * 2.0, tf.int32))


@tf.function(input_signature=[Spec(None)])
def stacked(x):
    return tf.stack([x, x])


@tf.function(input_signature=[Spec([None, None])])
def product(x):
    return tf.matmul(x, tf.ones([3, 4]))


@tf.function
def calling(x):
    print([each(x).shape for each in (pairs, nested, looping, stacked)])
    lengths = tf.constant([1.0, 2.0]) + 1.0
    print(sized(lengths).shape)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(pairs(x) - tf.ones([2, 2, 2]))
    gradient = tape.gradient(loss, w)
    graph = tf.compat.v1.get_default_graph()
    print([op.type for op in graph.get_operations()][-12:])
    return gradient


print(calling(tf.ones([2, 3])).numpy())
calling.get_concrete_function(Spec([None, 3]))


@tf.function
def refused(x):
    return product(x)


try:
    refused(tf.ones([2, 5]))
except ValueError as error:
    print(next(line for line in str(error).splitlines() if "Dimensions" in line))
