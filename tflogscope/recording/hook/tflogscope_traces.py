"""What a tf.function is traced for: which function it is, and its arguments, as text.

It runs inside the recorded program; see `tflogscope_lines.py`. It calls no code of the program: of
its objects only the types are looked at.
"""

from __future__ import annotations

import enum
import functools
import itertools
import re
import types
import weakref
from types import FrameType
from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035  Python 3.8 has no other

from tflogscope_stacks import file_of  # type: ignore[import-not-found]  # it is beside this file

_FILES = ("/eager/polymorphic_function/polymorphic_function.py", "/eager/def_function.py")
_CALLS = ("__call__", "_call", "get_concrete_function", "_get_concrete_function_garbage_collected")
_NAME = re.compile(r"__(?:inference|forward)_(.*)_\d+")
_LENGTH = 60  # characters of a value
_ITEMS = 4  # of a list or dictionary, if they are not all alike
_DEPTH = 4
_LIBRARIES = ("tensorflow", "numpy", "keras", "tf_keras")
# A function is traced anew where another kind comes with the same type and shape: a variable, a
# tensor that is sparse or ragged.
_PLAIN = ("EagerTensor", "Tensor", "SymbolicTensor", "TensorSpec", "KerasTensor")

Traced = Tuple[int, int, Optional[Tuple[str, int]], List[Tuple[str, str]]]  # noqa: UP006, UP045


class Numbers:
    """Numbers of objects, from 1 on. It keeps no object alive, and compares none."""

    def __init__(self) -> None:
        self.last = itertools.count(1)
        self.known: Dict[int, Tuple[Any, int]] = {}  # noqa: UP006

    def of(self, thing: object) -> int:
        """The number of an object, a new one if it is seen for the first time."""
        entry = self.known.get(id(thing))
        if entry is not None and (entry[0] is None or entry[0]() is thing):
            return entry[1]
        number = next(self.last)
        try:
            reference = weakref.ref(thing)
        except TypeError:  # a list, an object with slots
            reference = None
        self.known[id(thing)] = (reference, number)
        return number


class Traces:
    """The functions that were traced so far."""

    def __init__(self) -> None:
        self.objects = Numbers()  # of tf.function
        self.values = Numbers()
        self.parts = Numbers()  # code, what methods are bound to, and what functions close over
        self.functions: Dict[int, int] = {}  # by the number of the object  # noqa: UP006
        self.numbers = itertools.count(1)
        self.same: Dict[Any, int] = {}  # by code and what the code closes over  # noqa: UP006

    def traced(self, name: str, frame: Optional[FrameType]) -> Optional[Traced]:  # noqa: UP045
        """What a graph function is a trace of: function, object, its file and line, its arguments.

        None if it is not a trace of a tf.function: the branch of a condition, a gradient.
        """
        wanted = _NAME.fullmatch(name)
        call = _call_of(frame)
        if wanted is None or call is None:
            return None
        function, args, kwargs = call
        if getattr(function, "_name", None) != wanted[1]:
            return None
        plain, bound = _plain(function._python_function)  # noqa: SLF001
        code = getattr(plain, "__code__", None)
        number = self.objects.of(function)
        if number not in self.functions:
            parts = (code or plain, *bound, *_closure(plain))
            # Not their ids, which CPython gives away again: Keras makes such a function in compile.
            key = tuple(self.parts.of(part) for part in parts)
            if key not in self.same:
                self.same.setdefault(key, next(self.numbers))
            self.functions[number] = self.same[key]
        given = _named(plain, code, bound, args, kwargs)
        spelled = [(name, self.spelled(value)) for name, value in given.items()]
        place = code and (file_of(code, getattr(plain, "__globals__", {})), code.co_firstlineno)
        return self.functions[number], number, place, spelled

    def spelled(self, value: Any, depth: int = 0) -> str:
        """A value as text: what tf.function goes by, and no more."""
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes):
            text = repr(value)
            return text if len(text) <= _LENGTH else text[:_LENGTH] + "…"
        if depth < _DEPTH and isinstance(value, (list, tuple)):
            inside = [self.spelled(part, depth + 1) for part in value]
            if len(set(inside)) == 1:
                return f"{kind.__name__} of {len(inside)} {inside[0]}"
            return f"{kind.__name__}({_few(inside)})"
        if depth < _DEPTH and kind is dict:
            pairs = ((_key(key), self.spelled(part, depth + 1)) for key, part in value.items())
            inside = [f"{key}: {part}" for key, part in pairs]
            return f"dict({_few(inside)})"
        name = ""
        if issubclass(type(kind), enum.EnumMeta):
            name = f"{kind.__name__}.{object.__getattribute__(value, '_name_')}"
        elif str(kind.__module__).partition(".")[0] in _LIBRARIES:
            name = self._tensor(value, depth)
        return name or f"{kind.__name__} object {self.values.of(value)}"

    def _tensor(self, value: Any, depth: int) -> str:
        dtype = getattr(value, "dtype", None)
        if dtype is not None and hasattr(value, "shape"):
            shape = value.shape
            rank = getattr(shape, "rank", len(shape) if isinstance(shape, tuple) else None)
            sizes = "unknown" if rank is None else ",".join(map(_size, tuple(shape)))
            dtype = getattr(dtype, "name", dtype)
            kind = type(value)
            plain = kind.__name__ in _PLAIN or kind.__module__.startswith("numpy")
            return f"{'' if plain else kind.__name__ + ' '}{dtype}[{sizes}]"
        element = getattr(value, "element_spec", None)
        if element is not None:
            return f"{type(value).__name__} of {self.spelled(element, depth + 1)}"
        return ""


def _size(size: Any) -> str:
    size = getattr(size, "value", size)
    return "?" if size is None else str(size)


def _key(key: Any) -> str:
    return repr(key)[:_LENGTH] if type(key) in (str, int) else type(key).__name__


def _few(inside: List[str]) -> str:  # noqa: UP006
    more = [f"… {len(inside)} in all"] if len(inside) > _ITEMS else []
    return ", ".join(inside[:_ITEMS] + more)


def _call_of(frame: Optional[FrameType]) -> Optional[Tuple[Any, Any, Any]]:  # noqa: UP006, UP045
    """The nearest call of a tf.function: the function and what it was called with."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in _CALLS and code.co_filename.replace("\\", "/").endswith(_FILES):
            inside = frame.f_locals
            kwargs = inside.get("kwds", inside.get("kwargs"))
            if kwargs is not None and hasattr(inside.get("self"), "_python_function"):
                return inside["self"], inside.get("args", ()), kwargs
        frame = frame.f_back
    return None


def _plain(function: Any) -> Tuple[Any, Tuple[Any, ...]]:  # noqa: UP006
    """The function under decorators, and the object that it is bound to (empty: none)."""
    bound: Tuple[Any, ...] = ()  # noqa: UP006
    for _ in range(16):
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            bound, function = (function.__self__,), function.__func__
        elif isinstance(function, types.FunctionType) and "__wrapped__" in vars(function):
            function = vars(function)["__wrapped__"]
        else:
            break
    return function, bound


def _named(function: Any, code: Any, bound: Any, args: Any, kwargs: Any) -> Dict[str, Any]:  # noqa: UP006
    """Arguments by their names, those included that were left to their defaults."""
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    defaults = getattr(function, "__defaults__", None) or ()
    given = dict(zip(names[len(names) - len(defaults) :], defaults))  # noqa: B905  of Python 3.10
    given.update(getattr(function, "__kwdefaults__", None) or {})
    names = names[1:] if bound else names
    for index, value in enumerate(args):
        given[names[index] if index < len(names) else f"argument {index + 1}"] = value
    given.update(kwargs)
    order = [name for name in names if name in given]
    return {name: given[name] for name in [*order, *(name for name in given if name not in order)]}


def _closure(function: Any) -> List[Any]:  # noqa: UP006
    values = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # empty as yet
            values.append(None)
    return values
