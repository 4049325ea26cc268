"""Errors: TensorFlow's, by their codes, and what this runtime says when something is not there."""

from __future__ import annotations

from typing import Any, NoReturn

_SMALL = (
    "is not in tflogscope's reference runtime, which is small on purpose. To see TensorFlow's own "
    "log of the program, record it: tflogscope record -- python PROGRAM.py"
)


class NotInThisRuntime(NotImplementedError):
    """An op, an argument or a combination that this runtime does not have."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} {_SMALL}")


class MissingName(AttributeError):
    """A name of TensorFlow's that this runtime does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} {_SMALL}", name=name.rpartition(".")[2])


def missing(owner: str, name: str) -> NoReturn:
    """For `__getattr__`: raises AttributeError for Python's own names, MissingName for others."""
    if name.startswith("_"):
        raise AttributeError(f"{owner} has no attribute {name!r}")
    raise MissingName(f"{owner}.{name}")


class OpError(Exception):
    """What a kernel raises: the base of the errors in `tf.errors`."""

    code = 2

    def __init__(self, node_def: Any, op: Any, message: str, *_: Any) -> None:
        super().__init__(message)
        self.node_def, self.op, self.message = node_def, op, message

    def __str__(self) -> str:
        return self.message


_CODES = (
    "Cancelled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied "
    "ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss"
)
KINDS = {
    f"{name}Error": type(f"{name}Error", (OpError,), {"code": code, "__module__": __name__})
    for code, name in enumerate(_CODES.split(), 1)
}
InvalidArgumentError: Any = KINDS["InvalidArgumentError"]
OutOfRangeError: Any = KINDS["OutOfRangeError"]
FailedPreconditionError: Any = KINDS["FailedPreconditionError"]
UnknownError: Any = KINDS["UnknownError"]


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor was used as a Python bool, or iterated over."""


KERNEL_ERRORS = (OpError, ValueError, IndexError, ZeroDivisionError)


def as_op_error(error: BaseException) -> OpError:
    """A kernel's error as one of TensorFlow's: what NumPy refuses is an invalid argument."""
    if isinstance(error, OpError):
        return error
    found: OpError = InvalidArgumentError(None, None, str(error))
    return found
