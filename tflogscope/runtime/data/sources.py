"""Where elements come from: `Dataset.from_tensor_slices`, `Dataset.range` and the like.

Told about: `tensorflow/python/data/ops/dataset_ops.py` and the `*_op.py` beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.data import making, structure
from tflogscope.runtime.data.functions import MappedFunction
from tflogscope.runtime.data.generator import PythonGenerator
from tflogscope.runtime.data.making import int64, tensor_dtypes
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.shapes import SCALAR
from tflogscope.runtime.tensors import TensorSpec

if TYPE_CHECKING:
    from tflogscope.runtime.data.dataset import Dataset

__all__ = ["Sources", "made_by"]


class Sources:
    """The part of `Dataset` that needs no dataset."""

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element."""
        element = structure.normalize_element(tensors)
        spec = structure.spec_of(element)
        components = {"components": structure.to_tensors(element)}
        return made_by("_TensorDataset", (), spec, components, name, types="Toutput_types")

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """An element for each index of the first dimension. Raises ValueError for scalars, or sizes
        that differ.
        """
        element = structure.normalize_element(tensors)
        batched = structure.spec_of(element)
        known = (making.size_of(spec) for spec in structure.flatten(batched))
        sizes = {size for size in known if size is not None}
        if len(sizes) > 1:
            raise ValueError(
                f"Dimensions {' and '.join(map(str, sorted(sizes)))} are not compatible"
            )
        spec = structure.map_structure(lambda each: TensorSpec(each.shape[1:], each.dtype), batched)
        return made_by(
            "_TensorSliceDataset", (), spec, {"components": structure.to_tensors(element)}, name,
            types="Toutput_types", is_files=False, replicate_on_split=False,
        )  # fmt: skip

    @staticmethod
    def range(*args: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Dataset:
        """`range(stop)`, `range(start, stop)`, `range(start, stop, step)` as elements."""
        start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        numbers = {
            "start": int64(start, "start"),
            "stop": int64(stop, "stop"),
            "step": int64(step, "step"),
        }
        spec = TensorSpec(SCALAR, output_type)
        return made_by("_RangeDataset", (), spec, numbers, name, replicate_on_split=False)

    @staticmethod
    def random(
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Numbers below 2**32 without end. Raises NotInThisRuntime for other ones each time."""
        from tflogscope.runtime.data.seeds import get_seeds

        if rerandomize_each_iteration:
            raise NotInThisRuntime("Dataset.random(rerandomize_each_iteration=True)")
        first, second = get_seeds(seed)
        seeds = {"seed": first, "seed2": second}
        return made_by("_RandomDataset", (), TensorSpec(SCALAR, dtypes.int64), seeds, name)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of several datasets side by side, in the structure in which the datasets are
        given.
        """
        nested = datasets if datasets is not None else args[0] if len(args) == 1 else args
        sources = structure.flatten(nested)
        for source in sources:
            if not isinstance(source, Sources):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    f"`tf.data.Dataset` objects but encountered object of type {type(source)}."
                )
        spec = structure.pack_as(nested, [source.element_spec for source in sources])
        inputs = {"input_datasets": [source._variant_tensor for source in sources]}
        return made_by("_ZipDataset", sources, spec, inputs, name, N=len(sources))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What a Python generator yields; `generator(*args)` is called anew for each iteration."""
        if output_signature is not None:
            spec = output_signature
        elif output_types is not None:
            spec = making.spec_of_types(output_types, output_shapes)
        else:
            raise TypeError("Either `output_signature` or `output_types` must be specified.")
        state = PythonGenerator(generator, args or (), spec)

        def flat_map_fn(dummy: Any) -> Dataset:
            return _generated(dummy, state, name)

        return Sources.from_tensors(0, name=name).flat_map(flat_map_fn, name=name)


def _generated(dummy: Any, state: PythonGenerator, name: str | None) -> Dataset:
    """The elements of one iteration."""
    first, second, third = state.functions()
    begin = MappedFunction(first, "Dataset_from_generator", structure.spec_of(dummy))
    number = begin.output_spec
    following = MappedFunction(second, "Dataset_from_generator", number)
    end = MappedFunction(third, "Dataset_from_generator", number)
    functions = {"init": begin, "next": following, "finalize": end}
    captured = {each: function.captured_inputs for each, function in functions.items()}
    inputs = {
        "init_func_other_args": [dummy, *captured["init"]],
        "next_func_other_args": captured["next"],
        "finalize_func_other_args": captured["finalize"],
    }
    attributes: dict[str, Any] = {"Tinit_func_args": tensor_dtypes([dummy, *captured["init"]])}
    for each in ("next", "finalize"):
        attributes[f"T{each}_func_args"] = tensor_dtypes(captured[each])
    for each, function in functions.items():
        attributes[f"{each}_func"] = function.function
    made = made_by("_GeneratorDataset", (), state.element_spec, inputs, name, **attributes)
    made._functions += functions.values()
    return made


def made_by(
    kind: str,
    sources: Sequence[Dataset],
    spec: Any,
    inputs: dict[str, Any],
    name: str | None,
    *,
    op: str | None = None,
    **attributes: Any,
) -> Dataset:
    """A dataset of what an op gives; the op is called as the kind, unless said otherwise."""
    from tflogscope.runtime.data.dataset import Dataset

    variant = making.make_variant(op or kind.strip("_"), spec, inputs, name, **attributes)
    return Dataset(variant, spec, kind, sources)
