"""Every op type that oneDNN has kernels for, as (name, arguments, attributes); used by two programs."""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import kernels

RNG = np.random.default_rng(0)
IMAGE, FILTER = (2, 8, 8, 4), (3, 3, 4, 4)
VOLUME, FILTER3 = (1, 5, 6, 6, 3), (2, 2, 2, 3, 3)
ONE, ONE3 = [1, 1, 1, 1], [1] * 5
POOL = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
POOL3 = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")
CONV, CONV3 = dict(strides=ONE, padding="SAME"), dict(strides=ONE3, padding="SAME")
F = "float"  # arguments that stay float32 whatever T is
OPS = [
    ("MatMul", dict(a=(8, 16), b=(16, 4)), {}),
    ("BatchMatMulV2", dict(x=(2, 8, 16), y=(2, 16, 4)), {}),
    ("Einsum", dict(inputs=[(8, 16), (16, 4)]), dict(equation="ij,jk->ik")),
    ("Conv2D", dict(input=IMAGE, filter=FILTER), CONV),
    ("Conv2DBackpropInput", dict(input_sizes=IMAGE, filter=FILTER, out_backprop=IMAGE), CONV),
    ("Conv2DBackpropFilter", dict(input=IMAGE, filter_sizes=FILTER, out_backprop=IMAGE), CONV),
    ("Conv3D", dict(input=VOLUME, filter=FILTER3), CONV3),
    ("Conv3DBackpropInputV2", dict(input_sizes=VOLUME, filter=FILTER3, out_backprop=VOLUME), CONV3),
    ("Conv3DBackpropFilterV2", dict(input=VOLUME, filter_sizes=FILTER3, out_backprop=VOLUME), CONV3),
    ("DepthwiseConv2dNative", dict(input=IMAGE, filter=(3, 3, 4, 1)), CONV),
    ("DepthwiseConv2dNativeBackpropInput", dict(input_sizes=IMAGE, filter=(3, 3, 4, 1), out_backprop=IMAGE), CONV),
    ("DepthwiseConv2dNativeBackpropFilter", dict(input=IMAGE, filter_sizes=(3, 3, 4, 1), out_backprop=IMAGE), CONV),
    ("MaxPool", dict(input=IMAGE), POOL),
    ("MaxPoolGrad", dict(orig_input=IMAGE, orig_output=(2, 4, 4, 4), grad=(2, 4, 4, 4)), POOL),
    ("AvgPool", dict(value=IMAGE), POOL),
    ("AvgPoolGrad", dict(orig_input_shape=IMAGE, grad=(2, 4, 4, 4)), POOL),
    ("MaxPool3D", dict(input=VOLUME), POOL3),
    ("AvgPool3D", dict(input=VOLUME), POOL3),
    ("FusedBatchNormV3", dict(x=IMAGE, scale=(4, F), offset=(4, F), mean=(0, F), variance=(0, F)), {}),
    (
        "FusedBatchNormGradV3",
        dict(y_backprop=IMAGE, x=IMAGE, scale=(4, F), reserve_space_1=(4, F), reserve_space_2=(4, F), reserve_space_3=(4, F)),
        {},
    ),
    ("Softmax", dict(logits=(4, 10)), {}),
    ("Transpose", dict(x=(6, 7, 8), perm=[2, 0, 1]), {}),
    ("LRN", dict(input=IMAGE), dict(depth_radius=2)),
    ("LRNGrad", dict(input_grads=IMAGE, input_image=IMAGE, output_image=IMAGE), dict(depth_radius=2)),
]
DTYPES = [tf.float32, tf.bfloat16, tf.float16, tf.float64, tf.int32]
_AS_SHAPE = ("input_sizes", "filter_sizes", "orig_input_shape", "perm")


def is_legal(op, dtype):
    """Whether TensorFlow has a CPU kernel for this op of this type. Asks the registry; runs nothing."""
    for kernel in kernels.get_registered_kernels_for_op(op).kernel:
        if kernel.device_type not in ("CPU", "DEFAULT") or kernel.label:
            continue
        types = [c.allowed_values.list.type for c in kernel.constraint if c.name == "T"]
        if all(dtype.as_datatype_enum in allowed for allowed in types):
            return True
    return False


def arrays(arguments, dtype):
    """NumPy arrays for the arguments."""
    made = {}
    for name, shape in arguments.items():
        if name in _AS_SHAPE:
            made[name] = np.array(shape, np.int32)
        elif isinstance(shape, list):
            made[name] = [_array(each, dtype) for each in shape]
        elif shape[-1] == F:
            made[name] = _array(shape[:1], tf.float32)
        else:
            made[name] = _array(shape, dtype)
    return made


def _array(shape, dtype):
    return (RNG.uniform(1, 2, shape) * (3 if dtype.is_integer else 1)).astype(dtype.as_numpy_dtype)
