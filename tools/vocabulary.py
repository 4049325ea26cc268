"""Print the words of the TensorFlow that runs this: ops, attributes, arguments, types, enums.

for python in …/2.8.4/bin/python …/2.21.0/bin/python; do $python tools/vocabulary.py; done |
    LC_ALL=C sort -u > grammars/tensorflow/words.txt
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2, types_pb2
from tensorflow.python.client import pywrap_tf_session


def texts() -> Iterator[str]:
    """Names, some of more than one word."""
    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    for number, name in types_pb2.DataType.items():
        yield from (number, tf.dtypes.as_dtype(name).name if 0 < name < 100 else "")
    for op in ops.op:
        yield op.name
        for attribute in op.attr:
            yield attribute.name
            yield from (text.decode() for text in attribute.allowed_values.list.s)
        for argument in (*op.input_arg, *op.output_arg):
            yield argument.name


print("\n".join({word for text in texts() for word in re.findall(r"[A-Za-z_]\w*", text)}))
