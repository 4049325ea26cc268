"""The errors of a small TensorFlow: the tree of `tf.errors`, and one of our own.

Every error class stands for one status code of TensorFlow (`absl::StatusCode`); a kernel that fails
raises one, and it reaches Python unchanged in class and in substance of text. Told about:
`tensorflow/python/framework/errors_impl.py`.
"""

from __future__ import annotations

from typing import ClassVar, NoReturn

__all__ = [
    "BY_CODE",
    "KERNEL_ERRORS",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InaccessibleTensorError",
    "InternalError",
    "InvalidArgumentError",
    "MissingName",
    "NotFoundError",
    "NotInThisRuntime",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "as_op_error",
    "missing_attribute",
]


class OpError(Exception):
    """An op failed. `message` says why, `node_def` and `op` where (None outside graphs)."""

    code: ClassVar[int] = 2
    code_name: ClassVar[str] = "UNKNOWN"

    def __init__(self, node_def: object = None, op: object = None, message: str = "") -> None:
        super().__init__()
        self.node_def = node_def
        self.op = op
        self.message = message

    @property
    def error_code(self) -> int:
        """The number of the status code, as `tf.errors` gives it."""
        return self.code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.node_def, self.op, self.message)


class CancelledError(OpError):
    """The caller cancelled it."""

    code, code_name = 1, "CANCELLED"


class UnknownError(OpError):
    """An error of another kind; what a Python exception inside `py_function` becomes."""

    code, code_name = 2, "UNKNOWN"


class InvalidArgumentError(OpError):
    """An input has a wrong shape, dtype or value, whatever the state of the system."""

    code, code_name = 3, "INVALID_ARGUMENT"


class DeadlineExceededError(OpError):
    """It took too long."""

    code, code_name = 4, "DEADLINE_EXCEEDED"


class NotFoundError(OpError):
    """A thing asked for (a file, a resource) does not exist."""

    code, code_name = 5, "NOT_FOUND"


class AlreadyExistsError(OpError):
    """A thing to be made exists already."""

    code, code_name = 6, "ALREADY_EXISTS"


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    code, code_name = 7, "PERMISSION_DENIED"


class ResourceExhaustedError(OpError):
    """Memory or another resource ran out."""

    code, code_name = 8, "RESOURCE_EXHAUSTED"


class FailedPreconditionError(OpError):
    """The system is not in a state for this, as a variable read before it was initialised."""

    code, code_name = 9, "FAILED_PRECONDITION"


class AbortedError(OpError):
    """It was given up because of something running beside it."""

    code, code_name = 10, "ABORTED"


class OutOfRangeError(OpError):
    """Past the end: what an iterator raises when a dataset has no more elements."""

    code, code_name = 11, "OUT_OF_RANGE"


class UnimplementedError(OpError):
    """TensorFlow itself has no kernel for this."""

    code, code_name = 12, "UNIMPLEMENTED"


class InternalError(OpError):
    """TensorFlow's own promise was broken."""

    code, code_name = 13, "INTERNAL"


class UnavailableError(OpError):
    """It may work later."""

    code, code_name = 14, "UNAVAILABLE"


class DataLossError(OpError):
    """Data is gone or damaged."""

    code, code_name = 15, "DATA_LOSS"


class UnauthenticatedError(OpError):
    """The caller is not known."""

    code, code_name = 16, "UNAUTHENTICATED"


BY_CODE: dict[int, type[OpError]] = {kind.code: kind for kind in OpError.__subclasses__()}
"""The class for each status code."""


KERNEL_ERRORS = (OpError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError)
"""What may leave a kernel: its own errors, and what Python and NumPy raise where it checked too
little.
"""


def as_op_error(error: BaseException) -> OpError:
    """The error as one of TensorFlow's: no other leaves an op."""
    if isinstance(error, OpError):
        return error
    kind = ResourceExhaustedError if isinstance(error, MemoryError) else InvalidArgumentError
    return kind(None, None, str(error))


class InaccessibleTensorError(ValueError):
    """A tensor of one graph was used in another from which it can't be reached."""


class OperatorNotAllowedInGraphError(TypeError):
    """A tensor of a graph was asked for its value: as a condition, or to iterate over."""


class NotInThisRuntime(NotImplementedError):
    """TensorFlow can do this, this small runtime can't. `name` says what is missing."""

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__(
            f"{name} is not part of this small runtime{': ' + detail if detail else ''}"
        )
        self.name = name


class MissingName(NotInThisRuntime, AttributeError):  # type: ignore[misc] # both have a `name`
    """The name is not there; an AttributeError too, so that `hasattr` says no."""


def missing_attribute(owner: str, name: str) -> NoReturn:
    """For a class's `__getattr__`: raises MissingName, and a plain AttributeError for names that
    are Python's or private.
    """
    if name.startswith("_"):
        raise AttributeError(f"{owner!r} object has no attribute {name!r}")
    raise MissingName(f"{owner}.{name}")


for _class in (*BY_CODE.values(), InaccessibleTensorError, OperatorNotAllowedInGraphError):
    _class.__module__ = "tensorflow.python.framework.errors_impl"  # as tracebacks name them
