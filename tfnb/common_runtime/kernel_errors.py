"""From an exception inside a kernel to the error a user sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.errors import OpError

if TYPE_CHECKING:
    from collections.abc import Sequence


# NumPy's ValueErrors for sizes that no machine has: memory ran out before it was asked for.
_BEYOND_ADDRESSES = ("array is too big", "Maximum allowed ")


def annotate(
    error: BaseException, node_name: str, op: str, device: str, inputs: Sequence[Any]
) -> BaseException:
    """The error as TensorFlow's class, with the node it came from.

    An ``OpError`` keeps its class and text.  Anything else a kernel raises becomes one: memory that
    ran out is ResourceExhausted, values NumPy refuses are InvalidArgument, the rest is Internal.
    """
    if not isinstance(error, OpError):
        if not isinstance(error, Exception):
            return error
        error = _as_op_error(error, inputs)
    if error.node_name is None:
        error.node_name = node_name
        error.add_note(f"while executing node '{node_name}' (op {op}) on {device}")
    return error


def _as_op_error(error: Exception, inputs: Sequence[Any]) -> OpError:
    forms = ", ".join(_form(value) for value in inputs)
    text = f"{type(error).__name__}: {error} (inputs: {forms or 'none'})"
    found: OpError
    if isinstance(error, MemoryError) or str(error).startswith(_BEYOND_ADDRESSES):
        found = errors.resource_exhausted(f"OOM when allocating a tensor: {text}")
    elif isinstance(error, ValueError | TypeError | IndexError | OverflowError):
        found = errors.invalid_argument(text)
    elif isinstance(error, NotImplementedError):
        found = errors.unimplemented(text)
    else:
        found = errors.internal(text)
    found.__cause__ = error
    return found


def _form(value: Any) -> str:
    shape = getattr(value, "shape", None)
    dtype = getattr(value, "dtype", None)
    if shape is None:
        return type(value).__name__
    return f"{getattr(dtype, 'name', dtype)}{list(shape)}"


def missing_output(node_name: str, found: int, wanted: int) -> OpError:
    """A kernel gave fewer or more outputs than its op has."""
    if found < wanted:
        return errors.internal(f"Missing {found}-th output from {{{{node {node_name}}}}}")
    return errors.internal(
        f"The kernel of node '{node_name}' gave {found} outputs, its op has {wanted}."
    )
