"""How functions, traces and their arguments are printed, and which calls are refused."""
# ruff: noqa - as users write it, mistakes and all

import collections
import functools
import gc
import os
import re
import sys
import weakref

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def told(error):
    """What the error says, without what differs between machines and runs."""
    text = str(error).replace(HERE, "")
    text = re.sub(
        r"(__(?:inference|forward)_\w+?|cond_(?:true|false)|while_(?:body|cond))_\d+", r"\1", text
    )
    return re.sub(r"id=\d+|0x[0-9a-f]+", "", text)


try:

    @tf.function
    def f(x):
        print("Traced with", x)
        return tf.reduce_sum(x)

    for s in ([1], [2], [3]):
        f(tf.ones(s))
    g = f.get_concrete_function(tf.TensorSpec(shape=[None], dtype=tf.float32))
    print(g(tf.constant([3.0])), g(tf.ones([4])))
    print(f.pretty_printed_concrete_signatures())
except Exception as error:
    print(type(error).__name__, told(error))

try:
    g("a")
except Exception as error:
    print(type(error).__name__, told(error))

try:
    g(tf.constant([[1.0]]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    g(tf.constant([1]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    g()
except Exception as error:
    print(type(error).__name__, told(error))

try:
    g(tf.ones([1]), tf.ones([2]))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    g(y=tf.ones([1]))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function(reduce_retracing=True)
    def r(x):
        print("Tracing", x)
        return x

    for n in range(1, 5):
        r(tf.ones([n]))
    r(tf.ones([2, 2]))
    r(tf.ones([3, 3]))
    r(tf.constant(1))
    print(r.experimental_get_tracing_count())
    print(r.pretty_printed_concrete_signatures(verbose=False))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function(
        input_signature=[
            tf.TensorSpec([], tf.float32),
            {"a": tf.TensorSpec([None], tf.int32), "b": [tf.TensorSpec([], tf.string)]},
        ]
    )
    def s(x, d):
        return x, d["a"], d["b"][0]

    print(s(1.0, {"a": [1, 2], "b": ["z"]}))
    print(s.get_concrete_function())
    print(s.get_concrete_function().structured_input_signature)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    s(1.0, {"a": [1, 2]})
except Exception as error:
    print(type(error).__name__, told(error))

try:
    s(1, {"a": [1, 2], "b": ["z"]})
except Exception as error:
    print(type(error).__name__, told(error))

try:
    s("x", {"a": [1, 2], "b": ["z"]})
except Exception as error:
    print(type(error).__name__, told(error))

try:
    try:

        @tf.function(input_signature=[tf.TensorSpec([]), tf.TensorSpec([])])
        def one(x):
            return x

        one(1.0)
    except Exception as e:
        print(type(e).__name__, told(e))
    try:

        @tf.function(input_signature=tf.TensorSpec([]))
        def one(x):
            return x

        one(1.0)
    except Exception as e:
        print(type(e).__name__, told(e))
    try:

        @tf.function(input_signature=[1])
        def one(x):
            return x

        one(1.0)
    except Exception as e:
        print(type(e).__name__, told(e))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="inp")])
    def named(x, flag=True):
        print("flag", flag)
        return x * 2

    print(named(tf.ones([1, 2])), named.get_concrete_function().inputs)
    named(tf.ones([1, 2]), flag=False)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    class A:
        def __init__(self, k):
            self.k = k

        @tf.function
        def __call__(self, x):
            return x * self.k

        @tf.function
        def other(self, x):
            print("trace other", type(self).__name__)
            return self(x) + 1

        @staticmethod
        @tf.function
        def st(x):
            return x + 100

        @classmethod
        def cl(cls, x):
            return tf.function(lambda v: v - 1)(x)

    a = A(2)
    b = A(3)
    print(a(2), b(2), a.other(1), b.other(1), a.other(1), A.st(1), A.cl(1))
    print(a.other.experimental_get_tracing_count(), A.other is A.other)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    ref = weakref.ref(a)
    del a
    gc.collect()
    print(ref() is None)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    m = A(2).other
    try:
        print(m(tf.constant(1)))
    except Exception as e:
        print(type(e).__name__, told(e))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    f2 = tf.function(lambda x: x + 1, autograph=False)
    print(f2(1), f2, f2.python_function(1)) if False else print(f2(1), f2.python_function(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def outer(x):
        @tf.function
        def inner(y):
            print("inner trace")
            return y * 2

        return (
            inner(x) + inner(x) + inner(tf.cast(x, tf.int32)) * 0 if False else inner(x) + inner(x)
        )

    print(outer(tf.constant(1.0)), outer(tf.constant(2.0)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def multi(x, *args, scale=1, **kw):
        return {"n": len(args), "k": sorted(kw), "v": x * scale}

    try:
        print(multi(tf.constant(1), 2, 3, scale=4, z=5))
    except Exception as e:
        print(type(e).__name__, told(e))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def ret_none(x):
        tf.print("in fn", output_stream=sys.stdout)

    print(ret_none(1))

    @tf.function
    def ret_mixed(x):
        return [x, (x, None)], {"z": x}

    print(ret_mixed(tf.constant(1)))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def bad(x):
        return object()

    bad(1)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def mutate(l):
        l.append(1)
        return l[0]

    mutate([tf.constant(1)])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(tf.function(np.add)(1, 2) if False else tf.function(tf.add)(1, 2))
    fpartial = tf.function(functools.partial(lambda a, b, c=3: a + b + c, b=10))
    print(fpartial(tf.constant(1)), fpartial(tf.constant(1), c=5))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.config.run_functions_eagerly(True)

    @tf.function
    def eager(x):
        print("called", x)
        return x

    eager(1)
    eager(1)
    tf.config.run_functions_eagerly(False)
    eager(1)
    eager(1)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def t(x):
        return tf.executing_eagerly(), tf.inside_function() if hasattr(tf, "inside_function") else 0

    print(t(1))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def dflt(x=tf.constant(1.0), y=None):
        return x if y is None else x + y

    print(dflt(), dflt(2.0), dflt(y=3.0))
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def enum_arg(mode: str, x: tf.Tensor):
        return x + 1 if mode == "a" else x - 1

    print(
        enum_arg("a", tf.constant(1)), enum_arg("b", 1), enum_arg.experimental_get_tracing_count()
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def nparr(x):
        print("trace", type(x).__name__)
        return x + 1

    print(
        nparr(np.array([1.0, 2.0])),
        nparr(np.array([3.0, 4.0])),
        nparr(np.float32(1)),
        nparr([1, 2]),
        nparr((1, 2)) if False else "",
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(nparr.experimental_get_tracing_count())
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def side(x):
        tf.print("tf.print:", x, output_stream=sys.stdout)
        print("print:", x)
        return x

    side(1)
    side(1)
    side(tf.constant(1))
    side(tf.constant(2))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    v = None

    @tf.function
    def create(x):
        global v
        if v is None:
            v = tf.Variable(x)
        return v.assign_add(1)

    print(create(1), create(1), v)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def create2(x):
        return tf.Variable(x) + 1

    create2(1)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def var_list(x):
        vs = [tf.Variable(1.0) for _ in range(2)]
        return x + vs[0]

    var_list(1.0)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    cf = tf.function(lambda x, y: x + y).get_concrete_function(
        tf.TensorSpec([]), y=tf.TensorSpec([])
    )
    print(
        cf(tf.constant(1.0), y=tf.constant(2.0)),
        cf(tf.constant(1.0), tf.constant(2.0)),
        cf(x=tf.constant(1.0), y=tf.constant(2.0)),
    )
    print(
        cf, cf.structured_outputs, [t.shape for t in cf.inputs], cf.graph.get_operations()[-1].type
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(
        tf.function(lambda x: (x, {"a": x})).get_concrete_function(
            tf.TensorSpec([2, None], tf.int64, name="foo")
        )
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:
    g = tf.Graph()
    with g.as_default():
        a = tf.constant(1, name="a")
        b = a + 2
        print(a, b, g.get_operations(), b.graph is g)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(
        [
            (op.name, op.type, [i.name for i in op.inputs], [c.name for c in op.control_inputs])
            for op in tf.function(lambda x: tf.print(x))
            .get_concrete_function(1)
            .graph.get_operations()
        ]
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def double(a):
        print("Tracing with", a)
        return a + a

    print(double(tf.constant(1)))
    print(double(tf.constant(1.1)))
    print(double(tf.constant("a")))
    print(double.pretty_printed_concrete_signatures())
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(double.experimental_get_tracing_count())
    ds = double.get_concrete_function(tf.constant("a"))
    print(ds)
    print(ds(a=tf.constant("b")))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(ds.structured_input_signature)
    print(ds.structured_outputs)
    print(ds.inputs, ds.outputs)
except Exception as error:
    print(type(error).__name__, told(error))

try:

    @tf.function
    def st(d, lst, *args, **kw):
        print(sorted(d), lst, args, sorted(kw))
        return {"s": d["a"] + lst[0], "t": (args[0], kw["z"])}

    print(st({"a": tf.constant(1)}, [tf.constant(2), 5], 7, z=tf.constant([1.0, 2.0])))
    c3 = st.get_concrete_function(
        {"a": tf.TensorSpec([], tf.int32)},
        [tf.TensorSpec([], tf.int32), 5],
        7,
        z=tf.TensorSpec([2]),
    )
    print(c3)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(c3.structured_input_signature)
    print(c3.structured_outputs)
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(tf.function(lambda: None).get_concrete_function())
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.assert_same_structure([1], (1,))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.assert_same_structure([1, 2], [1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.assert_same_structure([1, [2]], [1, 2])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.assert_same_structure({"a": 1}, {"b": 2})
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.assert_same_structure({"a": 1, "c": [1]}, {"a": 2, "c": (1,)})
except Exception as error:
    print(type(error).__name__, told(error))

try:
    P = collections.namedtuple("P", "a b")
    Q = collections.namedtuple("Q", "a b")
    tf.nest.assert_same_structure(P(1, 2), Q(1, 2))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.assert_same_structure(P(1, 2), (1, 2))
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.map_structure(lambda a, b: a, [1], {"a": 1})
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.map_structure(lambda a, b: a, [1, 2], [1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.pack_sequence_as([1, 2], [3])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    print(
        tf.nest.is_nested([1]),
        tf.nest.map_structure(lambda x: x * 2, P(1, [2])),
        tf.nest.flatten(tf.ones([2])),
        tf.nest.flatten("abc"),
        tf.nest.flatten(None),
    )
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.map_structure(1, [1])
except Exception as error:
    print(type(error).__name__, told(error))

try:
    tf.nest.map_structure(lambda x: x)
except Exception as error:
    print(type(error).__name__, told(error))
