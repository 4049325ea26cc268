"""A graph of TensorFlow 1: branches, loops, iterators, scopes and sessions."""

import tensorflow as tf

tf1 = tf.compat.v1
with tf.Graph().as_default() as g:
    tf1.set_random_seed(7)
    a = tf1.placeholder(tf.int32, [], "a")
    c = tf.cond(a > 0, lambda: tf.constant("pos"), lambda: tf.constant("neg"))
    i, s = tf.while_loop(
        lambda i, s: i < a, lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)]
    )
    u = tf1.random_uniform([2], seed=1)
    n = tf1.random_normal([2])
    counter = tf1.get_variable(
        "counter", shape=[], dtype=tf.int32, initializer=tf1.zeros_initializer()
    )
    inc = tf1.assign_add(counter, 1)
    with tf.control_dependencies([inc]):
        after = tf.identity(counter, name="after")
    grp = tf.group(inc, after)
    q = tf.case(
        [(a > 5, lambda: tf.constant(5)), (a > 2, lambda: tf.constant(2))],
        default=lambda: tf.constant(0),
    )
    sw = tf.switch_case(
        a % 3, [lambda: tf.constant(10), lambda: tf.constant(20), lambda: tf.constant(30)]
    )
    ta = tf.TensorArray(tf.float32, size=3)
    for k in range(3):
        ta = ta.write(k, float(k) * tf.cast(a, tf.float32))
    stacked = ta.stack()
    ds = tf1.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    nxt = ds.get_next()
    it = tf1.data.make_initializable_iterator(tf.data.Dataset.range(10, 12))
    nxt2 = it.get_next()
    x = tf.constant([[1.0, 2.0]])
    wv = tf1.get_variable("w", initializer=[[1.0], [2.0]])
    y = tf.matmul(x, wv)
    gr = tf1.gradients(y, [x, wv])
    hs = tf1.hessians(tf.reduce_sum(wv**3), wv)[0]
    with tf1.name_scope("scope"):
        z = tf.constant(1) + 2
        with tf1.name_scope("inner") as sc:
            print(sc, tf.multiply(3, 4).name)
    print(z.name, z.op.inputs[0].name, c.name, s.name, after)
    with tf1.variable_scope("vs", reuse=tf1.AUTO_REUSE):
        v1 = tf1.get_variable("v", [2])
        v2 = tf1.get_variable("v", [2])
        print(v1 is v2, v1.name)
    try:
        tf1.get_variable("counter", [])
    except ValueError as e:
        print(str(e).splitlines()[0][:60])
    init = tf1.global_variables_initializer()
    g.finalize()
    try:
        tf.constant(3)
    except RuntimeError as e:
        print(e)

config = tf1.ConfigProto(intra_op_parallelism_threads=1, allow_soft_placement=True)
with tf1.Session(graph=g, config=config) as sess:
    sess.run(init)
    for v in (3, -1, 7):
        print(v, sess.run([c, s, q, sw], {a: v}))
    print(sess.run(after), sess.run(grp), sess.run(counter))
    print(sess.run(u), sess.run(u), sess.run(n))
    print(sess.run(stacked, {a: 2}))
    print([sess.run(nxt) for _ in range(3)])
    try:
        sess.run(nxt)
    except tf.errors.OutOfRangeError as e:
        print("end of data", e.op.name)
    for _ in range(2):
        sess.run(it.initializer)
        print(sess.run(nxt2), sess.run(nxt2))
    print(sess.run([y, gr]), sess.run(hs).shape)
    print(sess.run((z, {"k": [y]})))
    part = sess.make_callable([y])
    print(part())
print(tf1.Session(graph=g).run(tf1.report_uninitialized_variables() if False else z))
with tf1.Session(graph=g) as s2:
    print(s2.run(u), s2.run(u))
