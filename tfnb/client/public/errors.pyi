# The names of tf.errors; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.diagnostics import (
    raise_exception_on_not_ok_status as raise_exception_on_not_ok_status,
)
from tfnb.core.errors import ABORTED as ABORTED
from tfnb.core.errors import ALREADY_EXISTS as ALREADY_EXISTS
from tfnb.core.errors import AbortedError as AbortedError
from tfnb.core.errors import AlreadyExistsError as AlreadyExistsError
from tfnb.core.errors import CANCELLED as CANCELLED
from tfnb.core.errors import CancelledError as CancelledError
from tfnb.core.errors import DATA_LOSS as DATA_LOSS
from tfnb.core.errors import DEADLINE_EXCEEDED as DEADLINE_EXCEEDED
from tfnb.core.errors import DataLossError as DataLossError
from tfnb.core.errors import DeadlineExceededError as DeadlineExceededError
from tfnb.core.errors import FAILED_PRECONDITION as FAILED_PRECONDITION
from tfnb.core.errors import FailedPreconditionError as FailedPreconditionError
from tfnb.core.errors import INTERNAL as INTERNAL
from tfnb.core.errors import INVALID_ARGUMENT as INVALID_ARGUMENT
from tfnb.core.errors import InaccessibleTensorError as InaccessibleTensorError
from tfnb.core.errors import InternalError as InternalError
from tfnb.core.errors import InvalidArgumentError as InvalidArgumentError
from tfnb.core.errors import NOT_FOUND as NOT_FOUND
from tfnb.core.errors import NotFoundError as NotFoundError
from tfnb.core.errors import OK as OK
from tfnb.core.errors import OUT_OF_RANGE as OUT_OF_RANGE
from tfnb.core.errors import OpError as OpError
from tfnb.core.errors import OperatorNotAllowedInGraphError as OperatorNotAllowedInGraphError
from tfnb.core.errors import OutOfRangeError as OutOfRangeError
from tfnb.core.errors import PERMISSION_DENIED as PERMISSION_DENIED
from tfnb.core.errors import PermissionDeniedError as PermissionDeniedError
from tfnb.core.errors import RESOURCE_EXHAUSTED as RESOURCE_EXHAUSTED
from tfnb.core.errors import ResourceExhaustedError as ResourceExhaustedError
from tfnb.core.errors import UNAUTHENTICATED as UNAUTHENTICATED
from tfnb.core.errors import UNAVAILABLE as UNAVAILABLE
from tfnb.core.errors import UNIMPLEMENTED as UNIMPLEMENTED
from tfnb.core.errors import UNKNOWN as UNKNOWN
from tfnb.core.errors import UnauthenticatedError as UnauthenticatedError
from tfnb.core.errors import UnavailableError as UnavailableError
from tfnb.core.errors import UnimplementedError as UnimplementedError
from tfnb.core.errors import UnknownError as UnknownError
from tfnb.core.errors import error_code_from_exception_type as error_code_from_exception_type
from tfnb.core.errors import exception_type_from_error_code as exception_type_from_error_code
