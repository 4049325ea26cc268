import tensorflow as tf

x = tf.reshape(tf.range(12.0), (4, 3))
print(tf.map_fn(lambda r: tf.reduce_sum(r * r), x))
print(
    tf.map_fn(lambda r: (r + 1.0, r * 2.0), x, fn_output_signature=(tf.float32, tf.float32))[
        0
    ].shape
)
print(tf.scan(lambda a, r: a + r, x).shape)
print(tf.foldl(lambda a, r: a + r, x))
print(tf.foldr(lambda a, r: a * r + 1.0, x))
print(
    tf.while_loop(
        lambda i, v: i < 4,
        lambda i, v: (i + 1, v * 2.0),
        [tf.constant(0), tf.constant(1.0)],
        maximum_iterations=10,
    )
)
print(
    tf.while_loop(
        lambda i, v: i < 4, lambda i, v: (i + 1, v * 2.0), [tf.constant(0), tf.constant(1.0)]
    )
)
print(tf.cond(tf.reduce_sum(x) > 3.0, lambda: tf.square(x), lambda: x).shape)
print(tf.vectorized_map(lambda r: tf.reduce_sum(r), x))
print(tf.switch_case(tf.constant(1), [lambda: tf.sin(1.0), lambda: tf.cos(1.0)]))
for i in range(3):
    y = tf.logical_and(tf.less(x, 3.0), tf.greater(x, 1.0))
    print(int(tf.reduce_sum(tf.cast(y, tf.int32))))
print(tf.case([(tf.constant(False), lambda: tf.sin(2.0))], default=lambda: tf.cos(2.0)))
print(tf.map_fn(lambda r: tf.map_fn(lambda e: e + 1.0, r), x).shape)
