"""Shapes and initial values of recurrent states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.structures import nest
from tfnb.framework.tensor import Tensor
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.array.constant_ops import constant, zeros
from tfnb.ops.array.shape_ops import expand_dims

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


def _as_vector(part: TensorLike, what: str) -> tuple[Nested, Nested]:
    """Return (a vector as tensor or None, its static form) of a size, a shape or a tensor."""
    if isinstance(part, Tensor):
        vector = part
        if part.shape.ndims == 0:
            vector = expand_dims(part, 0)
        elif part.shape.ndims != 1:
            raise ValueError(
                f"{what} tensor must be either a scalar or vector, but saw tensor: {part}"
            )
        known = constant_value(part)
        return vector, None if known is None else [int(size) for size in known.reshape(-1)]
    shape = as_shape(part)
    static = None if shape.ndims is None else shape.as_list()
    if not shape.is_fully_defined():
        return None, static
    return constant(shape.as_list(), dtype=dtypes.int32), static


def joined_shape(prefix: TensorLike, suffix: TensorLike) -> TensorResult:
    """Return the concatenation of two shapes, a tensor; each is a size, a shape or a tensor.

    Raises:
      ValueError: one of them is unknown.
    """
    first, _ = _as_vector(prefix, "prefix")
    second, _ = _as_vector(suffix, "suffix")
    if first is None or second is None:
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return concat((first, second), 0)


def joined_static_shape(prefix: TensorLike, suffix: TensorLike) -> list[int | None] | None:
    """Return the static value of the shape that :func:`joined_shape` returns."""
    _, first = _as_vector(prefix, "prefix")
    _, second = _as_vector(suffix, "suffix")
    shape = as_shape(first).concatenate(as_shape(second))
    return None if shape.ndims is None else shape.as_list()


def zero_states(state_size: Any, batch_size: TensorLike, dtype: Any) -> TensorResult:
    """Return zeros for every state, ``[batch_size, *size]``, in the structure of the sizes."""

    def zero_state(size: TensorLike) -> TensorResult:
        made = zeros(joined_shape(batch_size, size), dtype=dtype)
        made.set_shape(joined_static_shape(batch_size, size))
        return made

    return nest.map_structure(zero_state, state_size)


def shape_from(size: Any) -> TensorShape:
    """Return the shape for a size: a number, a shape, or a tensor that contains one."""
    if isinstance(size, Tensor):
        from tfnb.framework.constant_value import constant_value_as_shape

        return constant_value_as_shape(size)
    return as_shape(size)


def dtype_of_state(explicit: DTypeLike | None, state: Nested) -> Any:
    """Return the type of outputs: the explicit one if given, else that of the states.

    Raises:
      ValueError: there is no state, or the states have several types.
    """
    if explicit is not None:
        return explicit
    if not nest.is_nested(state):
        return state.dtype
    found = [part.dtype for part in nest.flatten(state)]
    if not found:
        raise ValueError(f"Unable to infer dtype from argument state={state}.")
    if any(dtype != found[0] for dtype in found):
        raise ValueError(
            f"Argument state={state} has tensors of different inferred dtypes. Unable to infer a "
            f"single representative dtype. Dtypes received: {found}"
        )
    return found[0]


def assert_like_rnn_cell(name: str, cell: Any) -> None:
    """Check that a cell has the members that running it needs.

    Raises:
      TypeError: members are missing; the message names them.
    """
    missing = [
        f"'{what}' property is missing"
        for what in ("output_size", "state_size")
        if not hasattr(cell, what)
    ]
    if not (hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")):
        missing.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        missing.append("is not callable")
    if missing:
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(missing)}.")
