"""Ops for serving that join the requests of several callers into one batch.

Here an execution does not wait for other callers: its inputs alone are the batch, padded to an
allowed size, as in TensorFlow when no other request arrives in time. Corresponds to
TensorFlow's ``batch_kernels.cc``.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_kernel import FunctionCall
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext

    Calls = Generator[FunctionCall, list[Any], tuple[Any, ...]]

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_NAMES = (
    "container: string = ''",
    "shared_name: string = ''",
    "batching_queue: string = ''",
)
_SIZES = "allowed_batch_sizes: list(int) = []"
_ids = itertools.count()


def _check_sizes(allowed: Sequence[int], most: int, *, splits: bool) -> None:
    """Check the attr ``allowed_batch_sizes`` with TensorFlow's errors."""
    before = 0
    for size in allowed:
        if size <= before:
            raise errors.invalid_argument(
                "allowed_batch_sizes entries must be monotonically increasing"
            )
        before = size
    if allowed and not splits and allowed[-1] != most:
        raise errors.invalid_argument(
            "final entry in allowed_batch_sizes must equal max_batch_size when "
            "enable_large_batch_splitting is False"
        )
    if allowed and splits and allowed[-1] > most:
        raise errors.invalid_argument(
            "final entry in allowed_batch_sizes must be less than or equal to max_batch_size when "
            "enable_large_batch_splitting is True"
        )


def _rows(tensors: Sequence[Array]) -> int:
    """Return the number of rows, which must be the same for all tensors.

    Raises:
      InvalidArgumentError: a tensor is a scalar, or the numbers differ.
    """
    for tensor in tensors:
        if not tensor.ndim:
            raise errors.invalid_argument("Batching input tensors must have at least one dimension")
        if tensor.shape[0] != tensors[0].shape[0]:
            raise errors.invalid_argument(
                "Batching input tensors supplied in a given op invocation must have equal "
                "0th-dimension size"
            )
    rows: int = tensors[0].shape[0]
    return rows


def _padded(tensors: Sequence[Array], allowed: Sequence[int]) -> list[Array]:
    """Return the tensors, padded with their first row to an allowed number of rows."""
    rows = tensors[0].shape[0]
    wanted = next((size for size in allowed if size >= rows), rows)
    if wanted == rows or not rows:
        return list(tensors)
    return [np.concatenate([t, np.repeat(t[:1], wanted - rows, axis=0)]) for t in tensors]


@register_op(
    "BatchFunction",
    "in_tensors: Tin, captured_tensors: Tcaptured -> out_tensors: Tout",
    "f: func",
    "num_batch_threads: int",
    "max_batch_size: int",
    "batch_timeout_micros: int",
    "max_enqueued_batches: int = 10",
    _SIZES,
    *_NAMES,
    "low_priority_max_batch_size: int = 0",
    "low_priority_batch_timeout_micros: int = 0",
    "low_priority_allowed_batch_sizes: list(int) = []",
    "low_priority_max_enqueued_batches: int = 0",
    "mixed_priority_policy: {'low_priority_padding_with_max_batch_size', "
    "'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', 'priority_merge'} "
    "= 'low_priority_padding_with_max_batch_size'",
    "batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP'",
    "Tin: list(type) >= 1",
    "Tcaptured: list(type) >= 0",
    "Tout: list(type) >= 1",
    "enable_large_batch_splitting: bool = false",
)
def batch_function(
    ctx: OpKernelContext,
    in_tensors: list[Array],
    captured_tensors: list[Array],
    *,
    f: NameAttrList,
    max_batch_size: int,
    allowed_batch_sizes: list[int],
    enable_large_batch_splitting: bool,
) -> Calls:
    """Return f(in_tensors, captured_tensors) for a batch of requests."""
    _check_sizes(allowed_batch_sizes, max_batch_size, splits=enable_large_batch_splitting)
    rows = _rows(in_tensors)
    if rows > max_batch_size:
        raise errors.invalid_argument(
            f"Task size {rows} is larger than maximum input batch size {max_batch_size}"
        )
    most = max(1, (allowed_batch_sizes or [max_batch_size])[-1])
    parts: list[list[Array]] = []
    for start in range(0, max(rows, 1), most):
        some = [tensor[start : start + most] for tensor in in_tensors]
        padded = _padded(some, allowed_batch_sizes)
        results = yield FunctionCall(f.name, f.attrs, [*padded, *captured_tensors])
        for result in results:
            if not result.ndim:
                raise errors.failed_precondition("Batched output tensor has 0 dimensions")
            if result.shape[0] != padded[0].shape[0]:
                raise errors.failed_precondition(
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th "
                    f"dimension sizes of the input tensors: {result.shape[0]} vs. "
                    f"{padded[0].shape[0]}"
                )
        parts.append([result[: some[0].shape[0]] for result in results])
    if len(parts) == 1:
        return tuple(parts[0])
    return tuple(np.concatenate(pieces) for pieces in zip(*parts, strict=True))


@register_op(
    "Batch",
    "in_tensors: T -> batched_tensors: T, batch_index: int64, id: int64",
    "num_batch_threads: int",
    "max_batch_size: int",
    "max_enqueued_batches: int = 10",
    "batch_timeout_micros: int",
    _SIZES,
    "grad_timeout_micros: int",
    *_NAMES,
    "T: list(type) >= 1",
    **_CPU,
)
def batch(
    xp: Xp, in_tensors: list[Array], *, max_batch_size: int, allowed_batch_sizes: list[int]
) -> Outputs:
    """Return a batch of requests, the range of rows of each request, and the id of this request."""
    _check_sizes(allowed_batch_sizes, max_batch_size, splits=False)
    rows = _rows(in_tensors)
    if rows > max_batch_size:
        raise errors.invalid_argument(
            f"Task size {rows} is larger than maximum input batch size {max_batch_size}"
        )
    own = next(_ids)
    places = np.array([[own, 0, rows]], np.int64)
    return *_padded(in_tensors, allowed_batch_sizes), places, np.int64(own)


@batch.shape
def _(c: InferenceContext) -> list[TensorShape]:
    shapes = []
    for index in range(len(c.inputs)):
        dims = c.with_rank_at_least(index, 1).dim_values
        shapes.append(UNKNOWN_SHAPE if dims is None else TensorShape([None, *dims[1:]]))
    return [*shapes, TensorShape([None, 3]), SCALAR_SHAPE]


def _place(batch_index: Array, number: Array) -> tuple[int, int]:
    """Return the range of rows of one request.

    Raises:
      InvalidArgumentError: the index is not a matrix with three columns.
      DeadlineExceededError: the index has no such request.
    """
    if batch_index.ndim != 2 or batch_index.shape[1] != 3:
        raise errors.invalid_argument(
            f"batch_index must be a matrix with three columns, not {shape_text(batch_index.shape)}"
        )
    for own, start, end in batch_index.tolist():
        if own == int(number):
            return start, end
    raise errors.deadline_exceeded(f"Batched data timed out: no batch contained request {number}")


@register_op(
    "Unbatch",
    "batched_tensor: T, batch_index: int64, id: int64 -> unbatched_tensor: T",
    "timeout_micros: int",
    "container: string = ''",
    "shared_name: string = ''",
    "T: type",
    **_CPU,
)
def unbatch(xp: Xp, batched_tensor: Array, batch_index: Array, number: Array) -> Array:
    """Return the rows of one request."""
    if not batched_tensor.ndim:
        raise errors.invalid_argument("Input data must have at least one dimension")
    start, end = _place(batch_index, number)
    if not 0 <= start <= end <= batched_tensor.shape[0]:
        raise errors.invalid_argument(
            f"Rows {start} to {end} are not in the batch of {batched_tensor.shape[0]}"
        )
    return batched_tensor[start:end]


@unbatch.shape
def _(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    return UNKNOWN_SHAPE if not dims else TensorShape([None, *dims[1:]])


@register_op(
    "UnbatchGrad",
    "original_input: T, batch_index: int64, grad: T, id: int64 -> batched_grad: T",
    "container: string = ''",
    "shared_name: string = ''",
    "T: type",
    **_CPU,
)
def unbatch_grad(
    xp: Xp, original_input: Array, batch_index: Array, grad: Array, number: Array
) -> Array:
    """Return the gradients of all requests of a batch, concatenated, without padding."""
    start, end = _place(batch_index, number)
    if len(batch_index) > 1:
        raise errors.deadline_exceeded(
            "Batched data timed out: no gradients of other requests arrived"
        )
    if grad.shape[:1] != (end - start,):
        raise errors.invalid_argument(
            f"The gradient's shape {shape_text(grad.shape)} is not that of the request's "
            f"{end - start} rows"
        )
    return grad


@unbatch_grad.shape
def _(c: InferenceContext) -> TensorShape:
    dims = c.inputs[2].dim_values
    return UNKNOWN_SHAPE if not dims else TensorShape([None, *dims[1:]])
