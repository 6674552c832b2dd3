"""Masks, grids and other arrays that are built of several ops, and some rarely used ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.ops.array.cast_ops import cast_op
from tfnb.ops.array.concat_ops import stack
from tfnb.ops.array.constant_ops import constant, ones
from tfnb.ops.array.scatter_kernels import scatter_rows
from tfnb.ops.array.shape_ops import expand_dims, reshape
from tfnb.ops.array.shape_ops import rank as rank_of
from tfnb.ops.array.shape_ops import size as size_of
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {
    "tf": ["sequence_mask", "meshgrid", "unravel_index", "fingerprint"],
}


# ------------------------------------------------------------------------------------- UnravelIndex


def _unravel_shape(c: InferenceContext) -> TensorShape:
    indices = c.inputs[0]
    if indices.ndims is None:
        return UNKNOWN_SHAPE
    dims = c.with_rank(1, 1)
    return dims.concatenate([indices.num_elements()]) if indices.ndims else dims


@register_op(
    "UnravelIndex",
    "indices: Tidx, dims: Tidx -> output: Tidx",
    "Tidx: {int32, int64} = DT_INT32",
    shape=_unravel_shape,
    devices=("CPU",),
)
def unravel_index(xp: Xp, indices: Array, dims: Array) -> Array:
    """Return positions in the flattened array as coordinates, one row per dimension."""
    if indices.ndim > 1:
        raise errors.invalid_argument(
            f'The indices can only be scalar or vector, got "{shape_text(indices.shape)}"'
        )
    if dims.ndim != 1:
        raise errors.invalid_argument(
            f'The indices can only be 1-D, got "{shape_text(dims.shape)}"'
        )
    sizes = dims.tolist()
    count = 1
    for index, size in enumerate(sizes):
        if size <= 0:
            told = "be negative" if size else "contain a dim of zero, but dims contains zero"
            raise errors.invalid_argument(f"Input dims cannot {told} at index {index}")
        count *= size
        if count > np.iinfo(dims.dtype).max:
            raise errors.invalid_argument(
                f"Input dims product is causing integer overflow: {sizes}"
            )
    if not indices.size:
        raise errors.invalid_argument(
            "received empty tensor indices: Tensor<type: "
            f"{indices.dtype.name} shape: {shape_text(indices.shape)} values: >"
        )
    if (indices >= count).any():
        raise errors.invalid_argument("index is out of bound as with dims")
    # Negative indices are rounded towards zero, as in C++ division.
    rest = np.fmod(indices, indices.dtype.type(count))
    out = np.empty((len(sizes), *indices.shape), dims.dtype)
    for axis in range(len(sizes) - 1, 0, -1):
        out[axis] = np.fmod(rest, sizes[axis])
        rest = (rest - out[axis]) // sizes[axis]
    if sizes:
        out[0] = rest
    return out


# -------------------------------------------------------------------------------------- Fingerprint


def _fingerprint_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank_at_least(0, 1).dim_values
    c.with_rank(1, 0)
    method: Any = c.constant_value(1)
    if method is not None and method[()] != b"farmhash64":
        raise ValueError(f"Unsupported method: {method[()].decode(errors='replace')}")
    return TensorShape([dims[0] if dims else None, None if method is None else 8])


@register_op(
    "Fingerprint",
    "data: T, method: string -> fingerprint: uint8",
    "T: type",
    shape=_fingerprint_shape,
    devices=("CPU",),
)
def fingerprint_op(xp: Xp, data: Array, method: Array) -> Array:
    """Return eight bytes per row that differ if the rows differ."""
    from tfnb.core.string_hashes import fingerprint64

    if data.ndim < 1:
        raise errors.invalid_argument(
            f"`data` should have at least one dimension: {shape_text(data.shape)}"
        )
    if method.ndim:
        raise errors.invalid_argument(
            f"`method` should be a scalar string: {shape_text(method.shape)}"
        )
    if method[()] != b"farmhash64":
        raise errors.invalid_argument(
            f"Unsupported fingerprint method: {method[()].decode(errors='replace')}"
        )
    out = np.empty((data.shape[0], 8), np.uint8)
    for row, value in enumerate(data):
        if data.dtype != object:
            found = fingerprint64(np.ascontiguousarray(value).tobytes())
        elif np.size(value) == 1:
            found = fingerprint64(value if data.ndim == 1 else value.reshape(-1)[0])
        else:
            # The fingerprint of the strings' fingerprints, so that the borders between strings
            # count.
            inner = [fingerprint64(text).to_bytes(8, "little") for text in value.reshape(-1)]
            found = fingerprint64(b"".join(inner))
        out[row] = np.frombuffer(found.to_bytes(8, "little"), np.uint8)
    return out


def fingerprint(data: TensorLike, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Return eight bytes per row that differ if the rows differ."""
    found: Tensor = fingerprint_op(data, method, name=name)
    return found


# ------------------------------------------------------------------------------------ InplaceUpdate


def _inplace_op(name: str, operation: str) -> OpDefinition:
    @register_op(name, "x: T, i: int32, v: T -> y: T", "T: type", shape=lambda c: c.inputs[0])
    def inplace(xp: Xp, x: Array, i: Array, v: Array) -> Array:
        """Return a copy of the input with some rows replaced or changed."""
        x_text, i_text, v_text = (shape_text(part.shape) for part in (x, i, v))
        if i.ndim != 1:
            raise errors.invalid_argument(f"i must be a vector. {i_text}")
        if x.ndim != v.ndim:
            raise errors.invalid_argument(
                f"x and v shape doesn't match (ranks differ): {x_text} vs. {v_text}"
            )
        for axis in range(1, x.ndim):
            if x.shape[axis] != v.shape[axis]:
                raise errors.invalid_argument(
                    f"x and v shape doesn't match at index {axis} : {x_text} vs. {v_text}"
                )
        if not v.ndim or len(i) != len(v):
            raise errors.invalid_argument(
                f"i and x shape doesn't match at index 0: {i_text} vs. {v_text}"
            )
        out = xp.array(x)
        if len(i) and out.size:
            if operation != "assign" and x.dtype.kind in "Ob":
                word = "bool" if x.dtype.kind == "b" else "string"
                raise errors.invalid_argument(f"Unsupported data type: {word}")
            scatter_rows(xp, out, i % len(out), v, operation)
        return out

    return inplace


inplace_update = _inplace_op("InplaceUpdate", "assign")
inplace_add = _inplace_op("InplaceAdd", "add")
inplace_sub = _inplace_op("InplaceSub", "sub")

# ----------------------------------------------------------------------------- built of several ops


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike = dtypes.bool,
    name: str | None = None,
) -> Tensor:
    """Return True at the first ``lengths[i]`` places of every row i.

    Args:
      lengths: the number of True elements of each row.
      maxlen: the length of the rows; by default the greatest of ``lengths``.
      dtype: the type of the result.
      name: the name of the ops.

    Raises:
      ValueError: ``maxlen`` is not a scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = provided.max_op(lengths, all_axes(lengths))
            maxlen = provided.maximum(constant(0, maxlen.dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims is not None and maxlen.shape.ndims != 0:
            raise ValueError(
                "Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = "
                f"{maxlen} with shape '{maxlen.shape}' instead"
            )
        row = provided.range_op(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        column = cast_op(expand_dims(lengths, -1), DstT=maxlen.dtype)
        found: Tensor = provided.less(row, column)
        if dtype is not None and dtypes.as_dtype(dtype) is not found.dtype:
            found = cast_op(found, DstT=dtype)
        return found


def all_axes(x: Tensor) -> Any:
    """Return the numbers of all dimensions; a constant where the rank is known."""
    rank = x.shape.ndims
    if rank is not None:
        return constant(np.arange(rank), dtypes.int32)
    return provided.range_op(0, rank_of(x), 1)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Return grids of coordinates, one tensor per vector.

    Args:
      *args: vectors.
      **kwargs: ``indexing``, "xy" (the default) or "ij"; ``name``.

    Raises:
      TypeError: an unknown keyword is given.
      ValueError: ``indexing`` has another value.
    """
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        key = next(iter(kwargs))
        raise TypeError(f"'{key}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'"
        )
    with name_scope(name, "meshgrid", args):
        count = len(args)
        form = (1,) * count
        if not count:
            return []
        columns = []
        for axis, vector in enumerate(args):
            columns.append(reshape(stack(vector), (*form[:axis], -1, *form[axis + 1 :])))
        sizes = [size_of(vector) for vector in args]
        dtype = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and count > 1:
            columns[0] = reshape(columns[0], (1, -1) + (1,) * (count - 2))
            columns[1] = reshape(columns[1], (-1, 1) + (1,) * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        whole = ones(sizes, dtype)
        return [column * whole for column in columns]
