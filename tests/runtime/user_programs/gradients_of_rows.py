"""Optimizers and gradients that are slices of rows: the values, and the nodes that each makes."""

import tensorflow as tf

indices = tf.constant([[0, 3], [3, 2]])
kinds = [
    "SGD",
    "RMSprop",
    "Adam",
    "AdamW",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "Nadam",
    "Ftrl",
    "Lion",
]


def trained(kind, **options):
    table = tf.Variable(tf.reshape(tf.range(10.0), (5, 2)) / 10, name="table")
    other = tf.Variable([[1.0], [2.0]], name="other")
    optimizer = getattr(tf.keras.optimizers, kind)(0.1, **options)

    def step():
        with tf.GradientTape() as tape:
            rows = tf.nn.embedding_lookup(table, indices)
            loss = tf.reduce_sum(tf.matmul(tf.reshape(rows, (4, 2)), other) ** 2)
        gradients = tape.gradient(loss, [table, other])
        optimizer.apply_gradients(zip(gradients, [table, other]))

    step()
    compiled = tf.function(step)
    compiled()
    compiled()
    nodes = [each.name for each in compiled.get_concrete_function().graph.get_operations()]
    print(kind, options, (table.numpy() + 0).round(3).tolist(), other.numpy().round(3).tolist())
    print([name for name in nodes if name.startswith(kind + "/")])


for kind in kinds:
    trained(kind)
trained("SGD", momentum=0.9, nesterov=True)
trained("RMSprop", momentum=0.9, centered=True)
trained("Adam", amsgrad=True)
