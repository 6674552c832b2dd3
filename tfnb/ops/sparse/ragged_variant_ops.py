"""Ragged tensors packed into variants, for datasets and mapped functions.

Corresponds to TensorFlow's ``ragged_tensor_to_variant_op.cc`` and
``ragged_tensor_from_variant_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.process.records import record
from tfnb.core.shape_inference import UNKNOWN_SHAPE, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.opaque_values import is_opaque
from tfnb.ops.sparse.ragged_ops import check_splits, splits_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Outputs, Variant, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_TSPLITS = "Tsplits: {int32, int64} = DT_INT64"


@record(frozen=True, slots=True)
class RaggedTensorVariant:
    """A ragged tensor as one value: its splits, outermost first, and its values."""

    nested_splits: tuple[Any, ...]
    values: TensorLike


def _unbatched(nested: Sequence[Array], values: Array) -> list[RaggedTensorVariant]:
    """Return the rows, each as a ragged tensor of one dimension less."""
    if not nested:
        return [RaggedTensorVariant((), np.ascontiguousarray(row)) for row in values]
    rows = []
    for start, end in zip(nested[0][:-1].tolist(), nested[0][1:].tolist(), strict=True):
        inner = []
        for splits in nested[1:]:
            part = splits[start : end + 1]
            inner.append(part - part[0])
            start, end = int(part[0]), int(part[-1])
        rows.append(RaggedTensorVariant(tuple(inner), values[start:end]))
    return rows


@register_op(
    "RaggedTensorToVariant",
    "rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: Tvalues -> encoded_ragged: variant",
    "RAGGED_RANK: int >= 0",
    "Tvalues: type",
    _TSPLITS,
    "batched_input: bool",
    **_CPU,
)
def ragged_tensor_to_variant(
    xp: Xp, nested: Sequence[Array], values: Array, *, batched_input: bool
) -> Variant:
    """Return a ragged tensor as one variant, or as a variant per row."""
    if values.ndim < 1 and (nested or batched_input):
        raise errors.invalid_argument("rt_dense_values must have rank at least 1")
    counts = [*(splits.shape[0] - 1 for splits in nested[1:]), values.shape[0]] if nested else []
    for splits, count in zip(nested, counts, strict=True):
        check_splits(splits, count)
    if not batched_input:
        return RaggedTensorVariant(tuple(nested), values)
    rows = _unbatched(nested, values)
    packed = np.empty(len(rows), object)
    packed[:] = rows
    return packed


@ragged_tensor_to_variant.shape
def _(c: InferenceContext) -> TensorShape:
    rank = c.attr("RAGGED_RANK")
    for index in range(rank):
        c.with_rank(index, 1)
    dims = c.with_rank_at_least(rank, 1 if rank else 0).dim_values
    if not c.attr("batched_input"):
        return TensorShape([])
    if rank:
        first = c.inputs[0].dim_values
        size = first[0] if first else None
        return TensorShape([None if size is None else size - 1])
    return TensorShape([None if dims is None else dims[0]])


@ragged_tensor_to_variant.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array import array_ops

    *nested, values = op.inputs
    size = array_ops.shape(values)
    splits = nested[0] if nested else array_ops.zeros([0], op.get_attr("Tsplits"))
    if not op.get_attr("batched_input"):
        splits = array_ops.zeros([0], op.get_attr("Tsplits"))
    found = ragged_tensor_to_variant_gradient(grad, splits, size, Tvalues=values.dtype)
    return *(None for _ in nested), found


@register_op(
    "RaggedTensorToVariantGradient",
    "encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32 -> "
    "dense_values_grad: Tvalues",
    "Tvalues: type",
    _TSPLITS,
    shape=lambda c: c.constant_value_as_shape(2),
    **_CPU,
)
def ragged_tensor_to_variant_gradient(
    xp: Xp, encoded: Variant, row_splits: Array, dense_values_shape: Array, *, Tvalues: dtypes.DType
) -> Array:
    """Return the gradients in the variants of all rows, concatenated."""
    shape = tuple(dense_values_shape.tolist())
    items = [encoded] if is_opaque(encoded) else encoded.reshape(-1).tolist()
    dtype = Tvalues.as_numpy_dtype
    parts = []
    for index, item in enumerate(items):
        if isinstance(item, RaggedTensorVariant):
            parts.append(item.values)
            continue
        # The gradient of a row without dependents is zero.
        rows = int(row_splits[index + 1] - row_splits[index]) if row_splits.size else shape[0]
        parts.append(np.zeros((rows, *shape[1:]), dtype))
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, dtype)
    if whole.size != int(np.prod(shape)):
        raise errors.invalid_argument(
            f"Invalid dense_values_shape: {shape_text(shape)} for gradients of shape "
            f"{shape_text(whole.shape)}"
        )
    return np.asarray(whole, dtype).reshape(shape)


@register_op(
    "RaggedTensorFromVariant",
    "encoded_ragged: variant -> output_nested_splits: output_ragged_rank * Tsplits, "
    "output_dense_values: Tvalues",
    "input_ragged_rank: int >= -1",
    "output_ragged_rank: int >= 0",
    "Tvalues: type",
    _TSPLITS,
    **_CPU,
)
def ragged_tensor_from_variant(
    xp: Xp,
    encoded: Variant,
    *,
    input_ragged_rank: int,
    output_ragged_rank: int,
    Tvalues: dtypes.DType,
    Tsplits: dtypes.DType,
) -> Outputs:
    """Return the ragged tensor in a variant, or the one whose rows are those of many variants."""
    outer = () if is_opaque(encoded) else encoded.shape
    inner = input_ragged_rank
    if inner == -1:
        inner = output_ragged_rank - len(outer)
        if inner < 0:
            raise errors.invalid_argument(
                "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be "
                f">= 0, found output_ragged_rank: {output_ragged_rank}, encoded_variant.dims(): "
                f"{len(outer)}, inferred input_ragged_rank: {inner}"
            )
    if inner + len(outer) != output_ragged_rank:
        raise errors.invalid_argument(
            "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
            f"output_ragged_rank: {output_ragged_rank}, input_ragged_rank: {inner}, "
            f"encoded_variant.dims(): {len(outer)}"
        )
    items = [encoded] if is_opaque(encoded) else encoded.reshape(-1).tolist()
    for item in items:
        _check(item, inner, Tvalues)
    if not outer:
        return *items[0].nested_splits, items[0].values
    dtype = Tsplits.as_numpy_dtype
    found = []
    rows = 1
    for level, size in enumerate(outer[1:]):
        rows *= outer[level]
        found.append(splits_of(np.full(rows, size), dtype))
    if inner:
        lengths = [item.nested_splits[0].size - 1 for item in items]
    else:
        lengths = [item.values.shape[0] if item.values.ndim else 0 for item in items]
    found.append(splits_of(np.array(lengths, np.int64), dtype))
    for level in range(inner):
        row_lengths = [np.diff(item.nested_splits[level]) for item in items]
        joined = np.concatenate(row_lengths) if row_lengths else np.zeros(0, np.int64)
        found.append(splits_of(joined, dtype))
    if not items:
        return *found, np.zeros(0, Tvalues.as_numpy_dtype)
    first = items[0].values.shape[1:]
    for item in items:
        if item.values.ndim < 1 or item.values.shape[1:] != first:
            raise errors.invalid_argument(
                "All flat_values must have compatible shapes. Shape at index 0: "
                f"{shape_text(first)}. Found: {shape_text(item.values.shape[1:])}"
            )
    return *found, np.concatenate([item.values for item in items])


def _check(item: Array, ragged_rank: int, dtype: dtypes.DType) -> None:
    if not isinstance(item, RaggedTensorVariant):
        raise errors.invalid_argument(
            "Input Variant element is not a ragged tensor: it holds a " + type(item).__name__
        )
    if item.values.dtype != dtype.as_numpy_dtype and dtype is not dtypes.string:
        raise errors.invalid_argument(
            f"Expected values Tensor dtype: {dtype.name}, found: {item.values.dtype}"
        )
    if len(item.nested_splits) != ragged_rank:
        raise errors.invalid_argument(
            f"Ragged rank mismatch: expected {ragged_rank}, found {len(item.nested_splits)}"
        )


@ragged_tensor_from_variant.shape
def _(c: InferenceContext) -> list[TensorShape]:
    inner, out = c.attr("input_ragged_rank"), c.attr("output_ragged_rank")
    dims = c.inputs[0].dim_values
    if inner == -1 and dims is not None:
        inner = out - len(dims)
        if inner < 0:
            raise ValueError(
                f"Inferred input_ragged_rank (output_ragged_rank - encoded_variant.rank) must be "
                f">= 0, found {inner}"
            )
    if inner >= 0:
        encoded = c.with_rank(0, out - inner).dim_values
        dims = encoded
    splits = [TensorShape([None]) for _ in range(out)]
    if dims and len(dims) > 1 and dims[0] is not None:
        splits[0] = TensorShape([merge_dims(dims[0] + 1, None)])
    return [*splits, UNKNOWN_SHAPE]


@ragged_tensor_from_variant.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    dims = op.inputs[0].shape.dim_values
    if dims is not None and len(dims) > 1:
        raise ValueError(
            "Unable to compute gradient: RaggedTensorToVariant can currently only generate 0D or "
            "1D output."
        )
    batched = op.get_attr("output_ragged_rank") > 0 if dims is None else bool(dims)
    *nested, _ = op.outputs
    return ragged_tensor_to_variant(nested, grads[-1], batched_input=batched)
