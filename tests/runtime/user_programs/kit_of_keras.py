"""The small things around a model: optimizers, schedules, utilities, the backend."""

import numpy as np
import tensorflow as tf


def show(label, result):
    print(label)
    try:
        print(result())
    except Exception as error:
        print(type(error).__name__, str(error)[:200])


K = tf.keras


def run(make, steps=3):
    def f():
        v = tf.Variable([1.0, -2.0])
        w = tf.Variable(3.0)
        o = make()
        for _ in range(steps):
            with tf.GradientTape() as t:
                loss = tf.reduce_sum(v**2) + w * v[0]
            o.apply_gradients(zip(t.gradient(loss, [v, w]), [v, w]))
        return v.numpy(), w.numpy(), o.iterations.numpy()

    return f


O = K.optimizers
for label, make in {
    "SGD": lambda: O.SGD(0.1),
    "SGD mom": lambda: O.SGD(0.1, momentum=0.9),
    "SGD nest": lambda: O.SGD(0.1, 0.9, nesterov=True),
    "Adam": lambda: O.Adam(0.1),
    "Adam ams": lambda: O.Adam(0.1, amsgrad=True),
    "AdamW": lambda: O.AdamW(0.1, weight_decay=0.1),
    "RMSprop": lambda: O.RMSprop(0.1),
    "RMSprop c": lambda: O.RMSprop(0.1, momentum=0.5, centered=True),
    "Adagrad": lambda: O.Adagrad(0.1),
    "Adadelta": lambda: O.Adadelta(1.0),
    "Adamax": lambda: O.Adamax(0.1),
    "Nadam": lambda: O.Nadam(0.1),
    "Ftrl": lambda: O.Ftrl(0.1),
    "Lion": lambda: O.Lion(0.1),
    "wd": lambda: O.SGD(0.1, weight_decay=0.01),
    "clipnorm": lambda: O.SGD(0.1, clipnorm=0.5),
    "clipvalue": lambda: O.SGD(0.1, clipvalue=0.5),
    "global_clipnorm": lambda: O.SGD(0.1, global_clipnorm=0.5),
    "ema": lambda: O.SGD(0.1, use_ema=True, ema_momentum=0.5),
    "exp": lambda: O.SGD(O.schedules.ExponentialDecay(0.1, 2, 0.5)),
    "string": lambda: O.get("adam"),
    "cfg": lambda: O.get({"class_name": "SGD", "config": {"learning_rate": 0.2}}),
    "jit": lambda: O.Adam(0.1, jit_compile=False),
}.items():
    show(label, run(make))
S = O.schedules
for label, s in {
    "ExponentialDecay": lambda: S.ExponentialDecay(0.1, 10, 0.5, staircase=True),
    "InverseTime": lambda: S.InverseTimeDecay(0.1, 10, 0.5),
    "Polynomial": lambda: S.PolynomialDecay(0.1, 10, 0.01, power=2.0),
    "Piecewise": lambda: S.PiecewiseConstantDecay([5, 8], [0.1, 0.05, 0.01]),
    "Cosine": lambda: S.CosineDecay(0.1, 10),
    "CosineWarm": lambda: S.CosineDecay(0.0, 10, warmup_target=0.1, warmup_steps=5),
    "CosineRestarts": lambda: S.CosineDecayRestarts(0.1, 5),
}.items():
    show("sch " + label, lambda: [float(s()(i)) for i in (0, 3, 6, 12)])


class Own(S.LearningRateSchedule):
    def __call__(self, step):
        return 0.1 / (tf.cast(step, tf.float32) + 1.0)


show("own sch", run(lambda: O.SGD(Own())))
show("cfg Adam", lambda: O.Adam(0.01).get_config())
show("cfg SGD", lambda: O.SGD(0.01, momentum=0.9).get_config())
show("from_config", lambda: O.Adam.from_config(O.Adam(0.02).get_config()).learning_rate.numpy())
show(
    "lr",
    lambda: (lambda o: (o.learning_rate, setattr(o, "learning_rate", 0.5), o.lr.numpy()))(
        O.SGD(0.1)
    ),
)
show(
    "lr assign",
    lambda: (lambda o: (o.learning_rate.assign(0.3), o.learning_rate.numpy()))(O.SGD(0.1)),
)
show(
    "variables",
    lambda: (lambda o, v: (o.build([v]), [x.name for x in o.variables]))(
        O.Adam(), tf.Variable([1.0, 2.0], name="w")
    ),
)
show(
    "minimize",
    lambda: (lambda v, o: (o.minimize(lambda: v**2, [v]), v.numpy()))(tf.Variable(2.0), O.SGD(0.1)),
)
show(
    "compute_gradients",
    lambda: (lambda v, o: [float(g) for g, _ in o.compute_gradients(lambda: v**2, [v])])(
        tf.Variable(2.0), O.SGD(0.1)
    ),
)
show("no grads", lambda: O.SGD().apply_gradients([(None, tf.Variable(1.0))]))
show(
    "new var",
    lambda: (
        lambda o, a, b: (
            o.apply_gradients([(tf.constant(1.0), a)]),
            o.apply_gradients([(tf.constant(1.0), b)]),
        )
    )(O.Adam(), tf.Variable(1.0), tf.Variable(2.0)),
)
show("name", lambda: (O.Adam().name, O.SGD(name="mine").name, O.get("rmsprop").__class__.__name__))
show("ser", lambda: O.serialize(O.SGD(0.1))["class_name"])
show(
    "exclude",
    lambda: (
        lambda o, v: (
            o.exclude_from_weight_decay([v]),
            o.apply_gradients([(tf.constant(0.0), v)]),
            v.numpy(),
        )
    )(O.AdamW(0.1, weight_decay=0.5), tf.Variable(1.0)),
)
show(
    "sparse",
    lambda: (
        lambda v, o: (
            o.apply_gradients([(tf.IndexedSlices(tf.ones([1, 2]), [1], [3, 2]), v)]),
            v.numpy(),
        )
    )(tf.Variable(tf.ones([3, 2])), O.Adam(0.1)),
)
show("bad", lambda: O.get("nope"))
show("schedule cfg", lambda: S.ExponentialDecay(0.1, 10, 0.5).get_config())

L = K.layers
show("compute_output_shape", lambda: L.Dense(3).compute_output_shape((None, 2)))
show(
    "reg",
    lambda: (
        K.regularizers.L1(0.1)(tf.constant([1.0, -2.0])),
        K.regularizers.l1_l2(0.1, 0.2)(tf.constant([1.0])),
        K.regularizers.OrthogonalRegularizer(0.1)(tf.ones([2, 2])),
    ),
)
show(
    "constraint",
    lambda: (
        K.constraints.MaxNorm(1.0)(tf.ones([2, 2])),
        K.constraints.NonNeg()(tf.constant([-1.0, 2.0])),
        K.constraints.UnitNorm()(tf.ones([2, 1])),
    ),
)
show(
    "backend",
    lambda: (
        K.backend.floatx(),
        K.backend.epsilon(),
        K.backend.image_data_format(),
        K.backend.int_shape(tf.ones([2, 3])),
    ),
)
show(
    "backend ops",
    lambda: (
        K.backend.sum(tf.ones([2, 3])),
        K.backend.mean(tf.ones([2])),
        K.backend.dot(tf.ones([1, 2]), tf.ones([2, 1])),
        K.backend.square(3.0),
    ),
)
show(
    "backend misc",
    lambda: (
        K.backend.get_value(tf.Variable(1.0)),
        K.backend.eval(tf.constant(2.0)),
        K.backend.clear_session(),
    ),
)
show("to_categorical", lambda: K.utils.to_categorical([0, 2, 1]))
show("normalize", lambda: K.utils.normalize(np.array([[3.0, 4.0]])))
show("pad_sequences", lambda: K.utils.pad_sequences([[1, 2], [3]], maxlen=3))
show(
    "pad_sequences pre",
    lambda: K.preprocessing.sequence.pad_sequences([[1, 2], [3]], padding="post"),
)
show("register", lambda: K.utils.register_keras_serializable()(Own).__name__)
show(
    "activations",
    lambda: (
        K.activations.relu(tf.constant([-1.0, 2.0])),
        K.activations.get("tanh").__name__,
        K.activations.serialize(K.activations.relu),
        K.activations.mish(tf.constant(1.0)),
    ),
)
show(
    "initializers",
    lambda: (
        K.initializers.Constant(3.0)([2]),
        K.initializers.get("zeros")([1]),
        K.initializers.serialize(K.initializers.Ones()),
    ),
)
