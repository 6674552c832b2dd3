"""The exceptions that end a graph run, one class per canonical error code.

A kernel or a part of the runtime raises, for example, ``errors.invalid_argument("...")``. Callers
add context: the executor sets ``node_name``, the client sets ``op`` (the user's Operation) and
``node_def``. Notes added with ``add_note`` stay with the error, also through pickling; the ``op``
does not, since it belongs to a graph of the process that raised.
"""

from __future__ import annotations

import sys
import warnings
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol, Self

from tfnb.core.process import threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfnb.core.process.standstill import Standstill

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class InaccessibleTensorError(ValueError):
    """A tensor was used outside the graph or the branch it belongs to."""


class OperatorNotAllowedInGraphError(TypeError):
    """A Python operator (``bool``, iteration, ...) was applied to a symbolic tensor."""


class OperationLike(Protocol):
    """The attributes that an error uses of its Operation."""

    @property
    def name(self) -> str:
        """The operation's name in its graph."""

    @property
    def traceback(self) -> Any:
        """Frames of the creation, in any form ``traceback.format_list`` takes."""


class Mistake(Enum):
    """Frequent mistakes, for which the client or the runtime adds advice to the message."""

    NO_DEVICE = auto()
    """No device fits the device that a node requests."""
    APART = auto()
    """Nodes that must share a device request different ones."""
    NOT_FED = auto()
    """A placeholder without a value was reached."""
    NO_VALUE = auto()
    """A fetched tensor has no value, because it is dead or no node computes it."""
    NOT_INITIALIZED = auto()
    """A variable without a value was read."""
    OUT_OF_MEMORY = auto()
    """A tensor is larger than the memory that is left."""


class OpError(Exception):
    """Base class of the errors a graph run can raise.

    >>> error = InvalidArgumentError(None, None, "Expected a positive size, got -1")
    >>> error.error_code, error.message
    (3, 'Expected a positive size, got -1')
    >>> str(error)
    'Expected a positive size, got -1'

    Attributes:
        node_def: The NodeDef that failed, or None.
        op: The user's Operation that failed, or None (the runtime made the node, or it is unknown).
        message: The text, without the stack trace that ``str`` adds when ``op`` is known.
        error_code: One of this module's integer codes.
        experimental_payloads: Details as a mapping of bytes or strings.
        node_name: The name of the failing node, filled in by the executor.
        named_node: The first node that the message itself names; None where it names none.
        mistake: The kind of mistake, where it is known.
        nodes: The nodes that the mistake is about, where the message names several.
        names_creation: Whether the message itself says where ``op`` was made.
        reports_memory: Whether the message itself says which tensors hold memory, or how to have
            them listed.
        standstill: Why the step stood still when it was ended.
        lead: The part of the message before the text of ``standstill``, which ends the message;
            None where the message does not have this text.
    """

    def __init__(
        self,
        node_def: Any,  # a NodeDef message; this module does not import protobuf
        op: OperationLike | None,
        message: str,
        error_code: int,
        *args: Mapping[Any, Any],
    ) -> None:
        """Make the error; a mapping as last argument becomes the payloads."""
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = error_code
        self.experimental_payloads: Mapping[Any, Any] = args[0] if args else {}
        self.node_name: str | None = None
        self.named_node: str | None = None
        self.mistake: Mistake | None = None
        self.nodes: tuple[str, ...] = ()
        self.names_creation = False
        self.reports_memory = False
        self.standstill: Standstill | None = None
        self.lead: str | None = None

    def naming(self, node_name: str | None) -> Self:
        """Note which node the message names, as in ``{{node x}}``; return the error."""
        self.named_node = node_name
        return self

    def __str__(self) -> str:
        """Return the message, followed by where the op was made unless the message says so."""
        op = self.op
        if op is None or self.names_creation:
            return str(self.message)
        import traceback

        parts = [f"{self.message}\n\nOriginal stack trace for {op.name!r}:\n"]
        parts += traceback.format_list(op.traceback or [])
        original = getattr(op, "_original_op", None)
        while original is not None:
            parts.append(
                f"\n...which was originally created as op {original.name!r}, defined at:\n"
            )
            parts += traceback.format_list(original.traceback or [])
            original = getattr(original, "_original_op", None)
        return "".join(parts)

    def __reduce__(self) -> tuple[Callable[..., OpError], tuple[Any, ...]]:
        """Pickle everything but the op, which cannot leave its graph."""
        notes = getattr(self, "__notes__", None)
        return _rebuild, (
            type(self),
            self.node_def,
            self.message,
            self.error_code,
            self.experimental_payloads,
            self.node_name,
            None if notes is None else list(notes),
            self.mistake,
            self.nodes,
            self.named_node,
            self.reports_memory,
        )


def _rebuild(
    cls: type[OpError],
    node_def: Any,
    message: str,
    error_code: int,
    payloads: Mapping[Any, Any],
    node_name: str | None,
    notes: list[str] | None,
    mistake: Mistake | None,
    nodes: tuple[str, ...],
    named_node: str | None,
    reports_memory: bool,
) -> OpError:
    error = cls.__new__(cls, message)
    OpError.__init__(error, node_def, None, message, error_code, payloads)
    error.node_name = node_name
    error.mistake, error.nodes = mistake, nodes
    error.named_node = named_node
    error.reports_memory = reports_memory
    for note in notes or ():
        error.add_note(note)
    return error


class _CodedError(OpError):
    """An error whose class fixes its code."""

    _code = UNKNOWN

    def __init__(
        self,
        node_def: Any,
        op: OperationLike | None,
        message: str,
        *args: Mapping[Any, Any],
    ) -> None:
        """Make the error with its class's code."""
        super().__init__(node_def, op, message, self._code, *args)


class CancelledError(_CodedError):
    """The step or the operation was cancelled before it finished."""

    _code = CANCELLED


class UnknownError(_CodedError):
    """An error without a more specific class, for example from a Python function in a kernel."""

    _code = UNKNOWN


class InvalidArgumentError(_CodedError):
    """An operation was given a value, shape or attribute it cannot take."""

    _code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """The time allowed for the step ran out."""

    _code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A file, op, resource or device that was asked for does not exist."""

    _code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """A file, resource or other object to create exists already."""

    _code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The caller does not have permission."""

    _code = PERMISSION_DENIED


class UnauthenticatedError(_CodedError):
    """The request carries no valid credentials."""

    _code = UNAUTHENTICATED


class ResourceExhaustedError(_CodedError):
    """Memory, disk or another limited resource ran out."""

    _code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the required state, for example a variable has no value."""

    _code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """The operation was aborted, usually because of a concurrent one."""

    _code = ABORTED


class OutOfRangeError(_CodedError):
    """A position is past the valid range, for example the end of a queue or a file."""

    _code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """The operation is not implemented."""

    _code = UNIMPLEMENTED


class InternalError(_CodedError):
    """An invariant of the runtime does not hold."""

    _code = INTERNAL


class UnavailableError(_CodedError):
    """A service cannot be reached at the moment."""

    _code = UNAVAILABLE


class DataLossError(_CodedError):
    """Data is lost or corrupted beyond repair."""

    _code = DATA_LOSS


_CODE_TO_CLASS: dict[int, type[_CodedError]] = {
    cls._code: cls
    for cls in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        UnauthenticatedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
    )
}
_CLASS_TO_CODE: dict[type[OpError], int] = {cls: code for code, cls in _CODE_TO_CLASS.items()}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the class for a code; KeyError for an unknown number.

    >>> exception_type_from_error_code(5).__name__
    'NotFoundError'
    """
    return _CODE_TO_CLASS[error_code]


def error_code_from_exception_type(cls: type[BaseException]) -> int:
    """Return the code of an error class, UNKNOWN (with a warning) for any other class.

    >>> error_code_from_exception_type(NotFoundError)
    5
    """
    for base in cls.__mro__:
        code = _CLASS_TO_CODE.get(base)
        if code is not None:
            return code
    warnings.warn(f"No error code belongs to the class {cls.__name__}", stacklevel=2)
    return UNKNOWN


def from_code(
    error_code: int,
    message: str,
    node_def: Any = None,
    op: OperationLike | None = None,
) -> OpError:
    """Return the exception for a status that arrived as code and message.

    >>> from_code(11, "queue is closed")
    OutOfRangeError('queue is closed')
    """
    cls = _CODE_TO_CLASS.get(error_code)
    if cls is None:
        error = UnknownError(node_def, op, message)
        error.error_code = error_code
        return error
    return cls(node_def, op, message)


def cancelled(message: str) -> CancelledError:
    """Return a CancelledError that names no node yet."""
    return CancelledError(None, None, message)


def unknown(message: str) -> UnknownError:
    """Return an UnknownError that names no node yet."""
    return UnknownError(None, None, message)


def invalid_argument(message: str, mistake: Mistake | None = None) -> InvalidArgumentError:
    """Return an InvalidArgumentError that names no node yet."""
    error = InvalidArgumentError(None, None, message)
    error.mistake = mistake
    return error


def deadline_exceeded(message: str) -> DeadlineExceededError:
    """Return a DeadlineExceededError that names no node yet."""
    return DeadlineExceededError(None, None, message)


def not_found(message: str) -> NotFoundError:
    """Return a NotFoundError that names no node yet."""
    return NotFoundError(None, None, message)


def already_exists(message: str) -> AlreadyExistsError:
    """Return an AlreadyExistsError that names no node yet."""
    return AlreadyExistsError(None, None, message)


def permission_denied(message: str) -> PermissionDeniedError:
    """Return a PermissionDeniedError that names no node yet."""
    return PermissionDeniedError(None, None, message)


def unauthenticated(message: str) -> UnauthenticatedError:
    """Return an UnauthenticatedError that names no node yet."""
    return UnauthenticatedError(None, None, message)


def resource_exhausted(message: str) -> ResourceExhaustedError:
    """Return a ResourceExhaustedError that names no node yet."""
    return ResourceExhaustedError(None, None, message)


def out_of_memory(message: str) -> ResourceExhaustedError:
    """Return the error for exhausted memory; other resources have ``resource_exhausted``."""
    error = ResourceExhaustedError(None, None, message)
    error.mistake = Mistake.OUT_OF_MEMORY
    return error


def failed_precondition(message: str, mistake: Mistake | None = None) -> FailedPreconditionError:
    """Return a FailedPreconditionError that names no node yet."""
    error = FailedPreconditionError(None, None, message)
    error.mistake = mistake
    return error


def aborted(message: str) -> AbortedError:
    """Return an AbortedError that names no node yet."""
    return AbortedError(None, None, message)


def out_of_range(message: str) -> OutOfRangeError:
    """Return an OutOfRangeError that names no node yet."""
    return OutOfRangeError(None, None, message)


def unimplemented(message: str) -> UnimplementedError:
    """Return an UnimplementedError that names no node yet."""
    return UnimplementedError(None, None, message)


def internal(message: str) -> InternalError:
    """Return an InternalError that names no node yet."""
    return InternalError(None, None, message)


def unavailable(message: str) -> UnavailableError:
    """Return an UnavailableError that names no node yet."""
    return UnavailableError(None, None, message)


def data_loss(message: str) -> DataLossError:
    """Return a DataLossError that names no node yet."""
    return DataLossError(None, None, message)


def require_threads(feature: str, instead: str) -> None:
    """Refuse a feature that needs a thread where none can be started.

    Args:
      feature: the subject of the message.
      instead: what to do without it, a sentence.

    Raises:
      UnimplementedError: threads cannot be started.
    """
    if not threads.can_start():
        raise unimplemented(
            f"{feature} needs a thread, and this Python cannot start any ({sys.platform}). "
            f"{instead}"
        )
