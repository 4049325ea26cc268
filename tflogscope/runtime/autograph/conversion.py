"""Which functions are converted, and the call that converts them: `ag__.converted_call`, and
`tf_convert` from outside.

The user's functions are converted when they are called, whatever they call in turn too; those of
libraries (TensorFlow, Keras, NumPy, …) are called as they are, and so is what has no source.
Told about: autograph/impl/{api,conversion}.py, core/{ag_ctx,config}.py.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from types import FunctionType, SimpleNamespace
from typing import Any

from tflogscope.runtime.autograph import user_errors
from tflogscope.runtime.autograph.source import NoSource, Unsupported
from tflogscope.runtime.autograph.transform import converted
from tflogscope.runtime.logs import log

LIBRARIES = (
    *(
        "collections",
        "copy",
        "cProfile",
        "inspect",
        "ipdb",
        "linecache",
        "mock",
        "pathlib",
        "pdb",
        "posixpath",
    ),
    *(
        "pstats",
        "re",
        "threading",
        "urllib",
        "matplotlib",
        "numpy",
        "pandas",
        "tensorflow",
        "PIL",
        "absl.logging",
    ),
    *("tensorflow_probability", "tensorflow_datasets.core", "keras", "tflogscope.runtime"),
)
"""What is in these modules is called as it is."""


class Status(Enum):
    """Whether AutoGraph converts in the code that runs now."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class _State(threading.local):
    def __init__(self) -> None:
        self.status = Status.UNSPECIFIED


_state = _State()


def control_status() -> Status:
    """Of the code that runs now."""
    return _state.status


@contextmanager
def with_status(status: Status) -> Iterator[None]:
    """In this block AutoGraph is enabled or disabled."""
    before, _state.status = _state.status, status
    try:
        yield
    finally:
        _state.status = before


def tf_convert(
    function: Callable[..., Any], status: Status = Status.ENABLED, *, whole: bool = False
) -> Callable[..., Any]:
    """`function` such that a call of it is converted, if `status` (of the code that it comes from)
    does not forbid it.

    `whole`: this is the function that the user decorated, where errors leave AutoGraph.
    """
    if is_artifact(function):
        return function
    if status is Status.DISABLED:
        return do_not_convert(function)

    @functools.wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        try:
            with with_status(Status.ENABLED):
                return converted_call(function, arguments, named, requested=whole)
        except Exception as error:
            if (translated := user_errors.translated(error)) is not None:
                raise translated.with_traceback(error.__traceback__) from None
            raise

    return artifact(wrapper)


def do_not_convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function is called as it is, and so is what it calls."""

    @functools.wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        with with_status(Status.DISABLED):
            return function(*arguments, **named)

    return artifact(wrapper)


def artifact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function as one that is not to be converted (again)."""
    function.autograph_info__ = True  # type: ignore[attr-defined]
    return function


def is_artifact(function: Any) -> bool:
    """Whether it is marked so."""
    return hasattr(function, "autograph_info__")


def converted_call(
    function: Any,
    arguments: tuple[Any, ...],
    named: Mapping[str, Any] | None = None,
    *,
    requested: bool = False,
) -> Any:
    """Calls `function`, converted if it is the user's. `requested`: even if it is in a library."""
    named = named or {}
    if _state.status is Status.DISABLED or is_artifact(function):
        return function(*arguments, **named)
    if isinstance(function, functools.partial):
        return converted_call(
            function.func,
            (*function.args, *arguments),
            {**function.keywords, **named},
            requested=requested,
        )
    overload = _overload(function)
    if overload is not None:
        return overload(*arguments, **named)
    if not _is_convertible(function, requested):
        return function(*arguments, **named)
    target, arguments = _plain_function(function, arguments)
    if target is None:
        return function(*arguments, **named)
    try:
        made = converted(target, _operators())
    except (NoSource, Unsupported) as error:
        log.warning(
            "AutoGraph could not transform %s and will run it as-is.\nCause: %s\nTo silence this "
            "warning, decorate the function with @tf.autograph.experimental.do_not_convert",
            function,
            error,
        )
        artifact(target)
        return target(*arguments, **named)
    return made(*arguments, **named)


def _overload(function: Any) -> Callable[..., Any] | None:
    from tflogscope.runtime.autograph.operators.builtins import OVERLOADS

    try:
        return OVERLOADS.get(function)
    except TypeError:  # a callable that can't be hashed
        return None


def _plain_function(
    function: Any, arguments: tuple[Any, ...]
) -> tuple[FunctionType | None, tuple[Any, ...]]:
    """The Python function behind a method or callable object, and its arguments with `self`."""
    if inspect.ismethod(function):
        return _plain_function(function.__func__, (function.__self__, *arguments))
    if isinstance(function, FunctionType):
        return function, arguments
    call = type(function).__call__
    if isinstance(call, FunctionType):
        return call, (function, *arguments)
    return None, arguments


_CACHED = type(functools.lru_cache(len))
"""What `functools.lru_cache` makes."""


def _is_convertible(function: Any, requested: bool) -> bool:
    """Whether a callable is Python that the user wrote. Told about: `is_unsupported` and
    `is_allowlisted`.
    """
    if inspect.isclass(function) or inspect.isbuiltin(function) or isinstance(function, _CACHED):
        return False
    if requested:
        return True
    if _in_library(getattr(function, "__module__", None)):
        return False
    if inspect.isgeneratorfunction(function):
        return False
    if inspect.ismethod(function):
        # A method that a class of the user inherits from a library is the library's.
        owner = _defining_class(function)
        return owner is None or not _in_library(owner.__module__)
    if not isinstance(function, FunctionType):
        call = getattr(type(function), "__call__", None)  # noqa: B004 - its module is asked for
        return not _in_library(getattr(call, "__module__", None))
    return True


def _in_library(module: str | None) -> bool:
    return module is not None and any(
        module == name or module.startswith(f"{name}.") for name in LIBRARIES
    )


def _defining_class(method: Any) -> type | None:
    owner = method.__self__ if inspect.isclass(method.__self__) else type(method.__self__)
    return next((each for each in owner.__mro__ if method.__name__ in vars(each)), None)


@functools.cache
def _operators() -> SimpleNamespace:
    """What converted code knows as `ag__`."""
    from tflogscope.runtime.autograph.operators import conditional, logical, loops, variables

    return SimpleNamespace(
        converted_call=converted_call,
        artifact=artifact,
        if_stmt=conditional.if_stmt,
        while_stmt=loops.while_stmt,
        for_stmt=loops.for_stmt,
        if_exp=logical.if_exp,
        not_=logical.not_,
        and_=logical.and_,
        or_=logical.or_,
        Undefined=variables.Undefined,
        UndefinedReturnValue=variables.UndefinedReturnValue,
        load=variables.load,
        load_or_undefined=variables.load_or_undefined,
        returned=variables.returned,
    )
