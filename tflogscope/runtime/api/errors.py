"""`tf.errors`."""

from __future__ import annotations

from tflogscope.runtime import errors
from tflogscope.runtime.api.missing import missing

AbortedError = errors.AbortedError
AlreadyExistsError = errors.AlreadyExistsError
CancelledError = errors.CancelledError
DataLossError = errors.DataLossError
DeadlineExceededError = errors.DeadlineExceededError
FailedPreconditionError = errors.FailedPreconditionError
InternalError = errors.InternalError
InvalidArgumentError = errors.InvalidArgumentError
NotFoundError = errors.NotFoundError
OpError = errors.OpError
OperatorNotAllowedInGraphError = errors.OperatorNotAllowedInGraphError
OutOfRangeError = errors.OutOfRangeError
PermissionDeniedError = errors.PermissionDeniedError
ResourceExhaustedError = errors.ResourceExhaustedError
UnauthenticatedError = errors.UnauthenticatedError
UnavailableError = errors.UnavailableError
UnimplementedError = errors.UnimplementedError
UnknownError = errors.UnknownError

OK = 0
globals().update({kind.code_name: code for code, kind in errors.BY_CODE.items()})

__getattr__ = missing("tf.errors")
