"""Nodes that oneDNN could run, each kept from it by one thing, and twins that it runs.

The first part of a node's name is the reason, `rewritten` for the twins.
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops.linalg.sparse import sparse_csr_matrix_ops as sparse

tf.get_logger().setLevel("ERROR")
raw = tf.raw_ops
scope = tf.name_scope


def made(*shape, dtype=tf.float32):
    return tf.cast(tf.random.stateless_uniform(shape, (1, 2)), dtype)


def kept(values):
    return [tf.identity(value) for value in values]


IMAGE, FILTER, DEPTHWISE, CHANNELS = made(2, 8, 8, 4), made(3, 3, 4, 4), made(3, 3, 4, 1), made(4)
VOLUME = made(2, 4, 4, 4, 4)
NONE = tf.zeros([0])
POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
POOL_3D = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}


@tf.function
def types(a, b, image, kernel):
    out = []
    for dtype in (tf.float32, tf.bfloat16, tf.float16, tf.float64, tf.int32, tf.complex64):
        runs = dtype in (tf.float32, tf.bfloat16)
        x, y = tf.cast(a, dtype), tf.cast(b, dtype)
        batch = tf.cast(tf.reshape(a, [2, 4, 4]) * 2, dtype)
        with scope("rewritten" if runs else "dtype"):
            out += [tf.matmul(x, y), tf.matmul(batch, batch, adjoint_a=True)]
            out.append(tf.einsum("abc,acd->abd", batch, batch))
            if dtype.is_floating:
                i = tf.cast(image, dtype)
                out.append(tf.nn.softmax(x * 3))
                out.append(tf.nn.conv2d(i, tf.cast(kernel, dtype), 1, "SAME"))
                out += [tf.nn.max_pool2d(i, 2, 2, "SAME"), tf.nn.avg_pool2d(i + 2, 2, 2, "SAME")]
        with scope("dtype" if dtype in (tf.float16, tf.int32) else "rewritten"):
            out.append(tf.transpose(tf.cast(a + 1, dtype), [1, 0]))
    with scope("dtype"):
        out.append(tf.transpose(a > 0, [1, 0]))
    return kept(out)


@tf.function
def padded(image, kernel, depthwise, dy):
    out = []
    numbers = [0, 0, 1, 1, 1, 1, 0, 0]
    for name, padding, explicit in (
        ("rewritten", "SAME", []),
        ("explicit-padding", "EXPLICIT", numbers),
    ):
        how = {"strides": [1] * 4, "padding": padding, "explicit_paddings": explicit}
        with scope(name):
            sizes = {"input_sizes": image.shape.as_list()}
            out.append(raw.Conv2DBackpropInput(filter=kernel, out_backprop=dy, **sizes, **how))
            out.append(
                raw.DepthwiseConv2dNativeBackpropInput(
                    filter=depthwise, out_backprop=dy, **sizes, **how
                )
            )
            sizes = {"filter_sizes": kernel.shape.as_list()}
            out.append(raw.Conv2DBackpropFilter(input=image, out_backprop=dy, **sizes, **how))
            sizes = {"filter_sizes": depthwise.shape.as_list()}
            out.append(
                raw.DepthwiseConv2dNativeBackpropFilter(
                    input=image, out_backprop=dy, **sizes, **how
                )
            )
            pool = raw.MaxPool(input=image, ksize=[1, 3, 3, 1], **how)
            out += [pool]
            out.append(
                raw.MaxPoolGrad(
                    orig_input=image, orig_output=pool, grad=dy, ksize=[1, 3, 3, 1], **how
                )
            )
        # Forward, padding in numbers is fine.
        with scope("rewritten"):
            out.append(raw.Conv2D(input=image, filter=kernel, **how))
            out.append(raw.DepthwiseConv2dNative(input=image, filter=depthwise, **how))
    return kept(out)


@tf.function
def pools(image, volume, y, y3, dy, dy3):
    out = []
    with scope("pool-window"):
        out.append(
            raw.MaxPool(input=image, ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding="SAME")
        )
    with scope("rewritten"):
        pool, pool3 = raw.MaxPool(input=image, **POOL), raw.MaxPool3D(input=volume, **POOL_3D)
        out += [pool, pool3]
        out.append(raw.MaxPoolGrad(orig_input=image, orig_output=pool, grad=dy, **POOL))
        out.append(raw.MaxPool3DGrad(orig_input=volume, orig_output=pool3, grad=dy3, **POOL_3D))
        average = raw.AvgPool(value=image, **POOL)
        out += [average, raw.AvgPoolGrad(orig_input_shape=[2, 8, 8, 4], grad=dy, **POOL)]
        out.append(raw.AvgPool3D(input=volume, **POOL_3D))
    with scope("no-workspace"):
        out.append(raw.MaxPoolGrad(orig_input=image, orig_output=y, grad=dy, **POOL))
        out.append(raw.MaxPool3DGrad(orig_input=volume, orig_output=y3, grad=dy3, **POOL_3D))
    return kept(out)


@tf.function
def norms(image, volume, s):
    out = []
    for name, x, layout in (("rewritten", image, "NHWC"), ("5d", volume, "NDHWC")):
        with scope(name):
            y = raw.FusedBatchNormV3(
                x=x, scale=s, offset=s, mean=NONE, variance=NONE, data_format=layout
            )
            g = raw.FusedBatchNormGradV3(
                y_backprop=x,
                x=x,
                scale=s,
                reserve_space_1=y.reserve_space_1,
                reserve_space_2=y.reserve_space_2,
                reserve_space_3=y.reserve_space_3,
                data_format=layout,
            )
            out += [y.y, g.x_backprop]
    with scope("dtype"):
        y = raw.FusedBatchNormV3(
            x=tf.cast(image, tf.float16), scale=s, offset=s, mean=NONE, variance=NONE
        )
        out.append(y.y)
    return kept(out)


def products(a, b, bias):
    with scope("rewritten"):
        out = [tf.matmul(a, b, transpose_a=True)]
        out.append(tf.nn.relu(tf.nn.bias_add(tf.matmul(a + 1, b), bias)))
    with scope("transpose-a"):
        out.append(tf.nn.relu(tf.nn.bias_add(tf.matmul(a + 2, b, transpose_a=True), bias)))
    return kept(out)


def fused(image, kernel, s, activation, name):
    """A convolution, batch normalisation and an activation: grappler makes them one op."""
    with scope(name):
        y = tf.nn.conv2d(image, kernel, 1, "SAME")
        y = tf.compat.v1.nn.fused_batch_norm(y, s, s, s, s, is_training=False)[0]
        return tf.identity(activation(y))


@tf.function
def quantized(x):
    def quantize(dtype=tf.qint8, **how):
        return tf.quantization.quantize(x, -1.0, 1.0, dtype, **how)

    exact = {"mode": "SCALED", "round_mode": "HALF_TO_EVEN"}
    with scope("rewritten"):
        good = quantize(**exact)
        out = [good.output, quantize(tf.quint8, mode="MIN_FIRST").output]
        out.append(tf.quantization.dequantize(*good, mode="SCALED"))
    with scope("quantization"):
        first = quantize(tf.quint8, mode="MIN_COMBINED")
        out += [quantize(mode="SCALED").output, quantize(narrow_range=True, **exact).output]
        out += [first.output, tf.quantization.dequantize(*first, mode="MIN_COMBINED")]
    return kept(tf.bitcast(o, tf.uint8) if o.dtype.is_quantized else o for o in out)


@tf.function
def single_ops(a, image):
    with scope("no-kernel"):
        out = [a + a * 2, a - 1, tf.maximum(a, 0.1), tf.math.squared_difference(a, tf.tanh(a))]
        out += [tf.concat([a, a], 0), tf.nn.relu(a), tf.nn.relu6(a), tf.nn.leaky_relu(a)]
        out += [tf.nn.lrn(image, 2), tf.add_n([a, a, a * 3]), tf.slice(a, [0, 0], [1, 1])]
    with scope("not-supported-op"):
        out += [tf.nn.elu(a), tf.sigmoid(a), tf.math.erf(a), tf.math.rsqrt(a), tf.square(a)]
        out += [tf.reduce_mean(a), tf.reduce_sum(a), tf.nn.log_softmax(a), tf.gather(a, [0, 1])]
        out += [tf.cumsum(a), tf.cast(a, tf.float64), tf.nn.bias_add(a, a[0])]
        out.append(raw.BatchMatMulV3(x=a, y=a, Tout=tf.float32))
    return kept(out)


@tf.function
def sparse_products(a, b):
    matrix = sparse.dense_to_csr_sparse_matrix(a, tf.where(a > 0.5))
    with scope("sparse"):
        return [sparse.sparse_matrix_mat_mul(matrix, b) + 1]


@tf.function(jit_compile=True)
def compiled(a, b):
    with scope("xla"):
        return tf.nn.relu(tf.matmul(a, b))


@tf.function
def calls_compiled(a, b):
    with scope("xla"):
        c = compiled(a, b)
    with scope("rewritten"):
        return tf.identity(c + tf.matmul(a, b))


@tf.function
def loops(a):
    def body(i, x):
        with scope("no-pass"):
            return i + 1, tf.matmul(x, x)

    return tf.while_loop(lambda i, _: i < 3, body, [0, a])[1]


A, B, S = made(4, 4), made(4, 4), CHANNELS
types(made(8, 4), B, IMAGE, FILTER)
padded(IMAGE, FILTER, DEPTHWISE, made(2, 8, 8, 4))
HALVED = tf.nn.max_pool2d(IMAGE, 2, 2, "SAME"), tf.nn.max_pool3d(VOLUME, 2, 2, "SAME")
pools(IMAGE, VOLUME, *HALVED, made(2, 4, 4, 4), made(2, 2, 2, 2, 4))
norms(IMAGE, VOLUME, S)
tf.function(products)(A, B, S)
tf.function(fused)(IMAGE, FILTER, S, tf.nn.relu, "rewritten")
try:
    tf.function(fused)(IMAGE, FILTER, S, tf.tanh, "fused-ops")
except tf.errors.OpError as error:  # TensorFlow has no other kernel for it either
    print(type(error).__name__)
quantized(A)
single_ops(A, IMAGE)
sparse_products(A, B)
compiled(A, B)
calls_compiled(A, B)
with context.function_executor_type("SINGLE_THREADED_EXECUTOR"):
    loops(A)
