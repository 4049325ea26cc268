"""tf.data in small: pipelines that make elements when an iterator asks for them.

dataset.py      `Dataset`: each method calls one op (making.py, structure.py help; options.py);
                sources.py and regrouping.py have some of its methods
functions.py    the functions of `map` and its kin: traced once, run for each element
ops.py          the ops
elements.py     what a dataset's variant tensor holds: how elements are made
                (regrouped_elements.py, shuffling.py, generator.py)
iterator.py     `iter(dataset)`
for_loops.py    `for x in dataset` in a traced function
python_functions.py  `enumerate(dataset)` and the like there
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.data import experimental
from tflogscope.runtime.data.dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
    DatasetSpec,
)
from tflogscope.runtime.data.iterator import IteratorSpec, OwnedIterator
from tflogscope.runtime.data.options import (
    AutoShardPolicy,
    ExternalStatePolicy,
    Options,
    ThreadingOptions,
)
from tflogscope.runtime.data.python_functions import register_overrides

Iterator = OwnedIterator

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "AutoShardPolicy", "Dataset",
    "DatasetSpec", "ExternalStatePolicy", "Iterator", "IteratorSpec", "Options", "OwnedIterator",
    "ThreadingOptions", "experimental",
]  # fmt: skip

__getattr__ = missing("tf.data")

register_overrides()
