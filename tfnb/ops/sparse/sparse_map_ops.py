"""Sparse tensors stored in a map by handle, so that a queue can hold them."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Outputs
    from tfnb.core.op_kernel import OpKernelContext

_TYPE = "SparseTensorsMap"
_SPARSE = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
_NAMES = ("container: string = ''", "shared_name: string = ''")

type_of_parts = tuple[Any, Any, Any]


class SparseTensorsMap:
    """Sparse tensors by number; thread-safe."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._kept: dict[int, type_of_parts] = {}  # guarded by self._lock
        self._next = 0  # guarded by self._lock

    def add(self, parts: type_of_parts) -> int:
        """Store a tensor and return its handle."""
        with self._lock:
            handle = self._next
            self._next += 1
            self._kept[handle] = parts
            return handle

    def take(self, handles: Handle) -> list[type_of_parts]:
        """Remove tensors and return them.

        Raises:
          InvalidArgumentError: a handle is unknown.
        """
        with self._lock:
            for handle in handles:
                if handle not in self._kept:
                    raise errors.invalid_argument(f"Unable to find SparseTensor: {handle} in map")
            return [self._kept.pop(handle) for handle in handles]


def _map(ctx: OpKernelContext, container: str, shared_name: str) -> SparseTensorsMap:
    name = shared_name or ctx.node_name
    found: SparseTensorsMap = ctx.resource_manager.lookup_or_create(
        container, _TYPE, name, lambda: SparseTensorsMap(name)
    )
    return found


def _check(indices: Array, values: Array, dense_shape: Array) -> None:
    if np.ndim(indices) != 2:
        raise errors.invalid_argument(
            f"Input indices should be a matrix but received shape {shape_text(np.shape(indices))}"
        )
    if np.ndim(values) != 1:
        raise errors.invalid_argument(
            f"Input values should be a vector but received shape {shape_text(np.shape(values))}"
        )
    if np.ndim(dense_shape) != 1:
        raise errors.invalid_argument(
            f"Input shape should be a vector but received shape {shape_text(np.shape(dense_shape))}"
        )
    if values.shape[0] != indices.shape[0]:
        raise errors.invalid_argument(
            f"Number of values must match first dimension of indices. Got {values.shape[0]} "
            f"values, indices shape: {shape_text(indices.shape)}"
        )
    if dense_shape.shape[0] != indices.shape[1]:
        raise errors.invalid_argument(
            f"Number of dimensions must match second dimension of indices. Got "
            f"{dense_shape.shape[0]} dimensions, indices shape: {shape_text(indices.shape)}"
        )


def _sparse_ranks(c: InferenceContext) -> None:
    for position, rank in enumerate((2, 1, 1)):
        c.with_rank(position, rank)


def _one_handle(c: InferenceContext) -> TensorShape:
    _sparse_ranks(c)
    return SCALAR_SHAPE


def _handles(c: InferenceContext) -> TensorShape:
    _sparse_ranks(c)
    return TensorShape([None])


def _taken(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 1)
    return [TensorShape([None, None]), TensorShape([None]), TensorShape([None])]


@register_op(
    "AddSparseToTensorsMap", f"{_SPARSE} -> sparse_handle: int64", "T: type", *_NAMES,
    stateful=True, shape=_one_handle, devices=("CPU",),
)  # fmt: skip
def add_sparse_to_tensors_map(
    ctx: OpKernelContext,
    sparse_indices: Array,
    sparse_values: Array,
    sparse_shape: Array,
    *,
    container: str,
    shared_name: str,
) -> Array:
    """Store a sparse tensor in a map."""
    _check(sparse_indices, sparse_values, sparse_shape)
    parts = (sparse_indices, sparse_values, sparse_shape)
    return np.int64(_map(ctx, container, shared_name).add(parts))


@register_op(
    "AddManySparseToTensorsMap", f"{_SPARSE} -> sparse_handles: int64", "T: type", *_NAMES,
    stateful=True, shape=_handles, devices=("CPU",),
)  # fmt: skip
def add_many_sparse_to_tensors_map(
    ctx: OpKernelContext,
    sparse_indices: Array,
    sparse_values: Array,
    sparse_shape: Array,
    *,
    container: str,
    shared_name: str,
) -> Array:
    """Store each row of a sparse tensor in a map; a row has one first index."""
    _check(sparse_indices, sparse_values, sparse_shape)
    rank = len(sparse_shape)
    if rank < 2:
        raise errors.invalid_argument(
            f"Rank of input SparseTensor should be > 1, but saw rank: {rank}"
        )
    count = int(sparse_shape[0])
    rows = sparse_indices[:, 0]
    if count < 0 or (len(rows) and (int(rows.min()) < 0 or int(rows.max()) >= count)):
        raise errors.invalid_argument(
            f"An index of the input SparseTensor is out of bounds: there are {count} rows"
        )
    kept = _map(ctx, container, shared_name)
    order = np.argsort(rows, kind="stable")
    ends = np.searchsorted(rows[order], np.arange(count + 1))
    handles = []
    for begin, end in itertools.pairwise(ends.tolist()):
        chosen = order[begin:end]
        parts = (sparse_indices[chosen, 1:], sparse_values[chosen], sparse_shape[1:].copy())
        handles.append(kept.add(parts))
    return np.asarray(handles, dtype=np.int64)


@register_op(
    "TakeManySparseFromTensorsMap",
    "sparse_handles: int64 -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    "dtype: type", *_NAMES, stateful=True, shape=_taken, devices=("CPU",),
)  # fmt: skip
def take_many_sparse_from_tensors_map(
    ctx: OpKernelContext, sparse_handles: Array, *, dtype: DType, container: str, shared_name: str
) -> Outputs:
    """Remove sparse tensors from a map; return them as one with an additional first dimension."""
    if np.ndim(sparse_handles) != 1:
        raise errors.invalid_argument(
            "sparse_handles should be a vector but received shape "
            f"{shape_text(np.shape(sparse_handles))}"
        )
    taken = _map(ctx, container, shared_name).take(sparse_handles.tolist())
    if not taken:
        raise errors.invalid_argument("Must have at least 1 serialized SparseTensor, but input is "
                                      "of size 0")  # fmt: skip
    rank = len(taken[0][2])
    for position, (_, values, dense_shape) in enumerate(taken):
        if len(dense_shape) != rank:
            raise errors.invalid_argument(
                f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{position}] "
                f"was: {rank} but rank of SparseTensor[{position}] is: {len(dense_shape)}"
            )
        if values.dtype != dtype.as_numpy_dtype:
            raise errors.invalid_argument(
                f"Requested SparseTensor of type {dtype.name} but SparseTensor[{position}].values "
                f"holds {values.dtype}"
            )
    indices = np.concatenate(
        [
            np.concatenate([np.full((len(one), 1), position, np.int64), one], axis=1)
            for position, (one, _, _) in enumerate(taken)
        ]
    )
    sizes = np.max([dense_shape for _, _, dense_shape in taken], axis=0)
    lead = np.asarray([len(taken)], dtype=np.int64)
    return (
        indices,
        np.concatenate([values for _, values, _ in taken]),
        np.concatenate([lead, sizes.astype(np.int64)]),
    )


for _op in (
    add_sparse_to_tensors_map, add_many_sparse_to_tensors_map, take_many_sparse_from_tensors_map,
):  # fmt: skip
    _op.not_differentiable()
