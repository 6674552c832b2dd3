"""Checkpoints of the first format, which the oldest graphs write and read.

The format is implemented in :mod:`tfnb.core.files.checkpoint_v1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.core.files.checkpoint_v1 import TensorSliceReader, TensorSliceWriter
from tfnb.core.files.tensor_slice import TensorSlice, parse_shape_and_slice
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array
    from tfnb.core.op_kernel import OpKernelContext


# -- shape functions


def _save_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    c.with_rank(1, 1)
    return []


def _save_slices_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    merge_shapes(c.with_rank(1, 1), c.with_rank(2, 1))
    return []


def _restore_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    c.with_rank(1, 0)
    return UNKNOWN_SHAPE


def _restore_slice_shape(c: InferenceContext) -> TensorShape:
    for position in range(3):
        c.with_rank(position, 0)
    spec = c.constant_value(2)
    if spec is None or not bytes(spec[()]):
        return UNKNOWN_SHAPE
    return TensorShape(list(parse_shape_and_slice(bytes(spec[()]).decode())[2]))


# -- writing


def _text(value: Array, what: str) -> str:
    found = np.asarray(value, dtype=object)
    if found.size != 1:
        raise errors.invalid_argument(
            f"Input {what} must be a string scalar; got a tensor of {found.size} elements"
        )
    return bytes(found.reshape(-1)[0]).decode("utf-8", "surrogateescape")


def _save(
    filename: Array, tensor_names: Array, specs: Array, data: list[Array], types: list[Array]
) -> None:
    path = _text(filename, "filename")
    flat: list[Array] = np.asarray(tensor_names, dtype=object).reshape(-1).tolist()
    names = [name.decode() for name in flat]
    if len(names) != len(data):
        raise errors.invalid_argument(
            f"Expected {len(data)} names for the tensors to save, got {len(names)}."
        )
    if specs is not None and np.size(specs) != len(data):
        raise errors.invalid_argument(
            f"Expected {len(data)} elements for the tensor shapes and slices but got "
            f"{np.size(specs)}"
        )
    texts = [b""] * len(data) if specs is None else np.asarray(specs).reshape(-1).tolist()
    writer = TensorSliceWriter(path)
    for name, spec, value, dtype in zip(names, texts, data, types):
        sizes = tuple(np.shape(value))
        shape, where = sizes, TensorSlice.full(len(sizes))
        if spec:
            shape, where, part = parse_shape_and_slice(spec.decode())
            if part != sizes:
                raise errors.invalid_argument(
                    f"Slice in shape_and_slice specification does not match the shape of the "
                    f"tensor to save: {spec.decode()}, tensor: {shape_text(sizes)}"
                )
        writer.add(name, shape, where, value, dtype)
    writer.finish()


@register_op(
    "Save", "filename: string, tensor_names: string, *data: T ->", "T: list(type) >= 1",
    stateful=True, shape=_save_shape, devices=("CPU",), expensive=True, effects="write filename",
    traits="checkpoint",
)  # fmt: skip
def save(
    ctx: OpKernelContext, filename: Array, tensor_names: Array, data: list[Array], *, T: list[DType]
) -> None:
    """Write tensors to one file."""
    _save(filename, tensor_names, None, data, T)


@register_op(
    "SaveSlices",
    "filename: string, tensor_names: string, shapes_and_slices: string, *data: T ->",
    "T: list(type) >= 1", stateful=True, shape=_save_slices_shape, devices=("CPU",),
    expensive=True, effects="write filename",
    traits="checkpoint",
)  # fmt: skip
def save_slices(
    ctx: OpKernelContext,
    filename: Array,
    tensor_names: Array,
    shapes_and_slices: Array,
    data: list[Array],
    *,
    T: list[DType],
) -> None:
    """Write tensors, or slices of larger ones, to one file."""
    _save(filename, tensor_names, shapes_and_slices, data, T)


# -- reading


def _reader(ctx: OpKernelContext, pattern: str) -> TensorSliceReader:
    """Return the reader of a checkpoint, shared by a step's nodes.

    Old graphs have a node for each tensor.
    """
    versions = [file_system.version_of(path) for path in file_system.matching_files(pattern)]
    reader: TensorSliceReader = ctx.step_container.lookup_or_create(
        "", "CheckpointReader", f"{pattern} {versions}", lambda: TensorSliceReader(pattern)
    )
    return reader


def _restore(
    ctx: OpKernelContext, file_pattern: Array, tensor_name: Array, spec: str, dtype: DType
) -> Array:
    reader = _reader(ctx, _text(file_pattern, "file_pattern"))
    name = _text(tensor_name, "tensor_name")
    shape, stored = reader.shape_and_dtype(name)
    if stored is not dtype:
        raise errors.invalid_argument(
            f"Expected to restore a tensor of type {dtype.name}, got a tensor of type "
            f"{stored.name} instead: tensor_name = {name}"
        )
    where = TensorSlice.full(len(shape))
    if spec:
        wanted, where, _ = parse_shape_and_slice(spec)
        if wanted != shape:
            raise errors.invalid_argument(
                f"Shape in shape_and_slice spec {shape_text(wanted)} does not match the shape in "
                f"the save file: {shape_text(shape)}, save file shape: {spec}"
            )
    return reader.lookup_slice(name, where)


@register_op(
    "Restore", "file_pattern: string, tensor_name: string -> tensor: dt", "dt: type",
    "preferred_shard: int = -1", stateful=True, shape=_restore_shape, devices=("CPU",),
    expensive=True, effects="read file_pattern",
    traits="unseen_state checkpoint loads",
)  # fmt: skip
def restore(ctx: OpKernelContext, file_pattern: Array, tensor_name: Array, *, dt: DType) -> Array:
    """Read a tensor from the files that match."""
    return _restore(ctx, file_pattern, tensor_name, "", dt)


@register_op(
    "RestoreSlice",
    "file_pattern: string, tensor_name: string, shape_and_slice: string -> tensor: dt",
    "dt: type", "preferred_shard: int = -1", stateful=True, shape=_restore_slice_shape,
    devices=("CPU",),
    expensive=True, effects="read file_pattern",
    traits="unseen_state checkpoint",
)  # fmt: skip
def restore_slice(
    ctx: OpKernelContext,
    file_pattern: Array,
    tensor_name: Array,
    shape_and_slice: Array,
    *,
    dt: DType,
) -> Array:
    """Read a tensor, or a slice of it, from the files that match."""
    return _restore(ctx, file_pattern, tensor_name, _text(shape_and_slice, "shape_and_slice"), dt)


for _op in (save, save_slices, restore, restore_slice):
    _op.not_differentiable()
