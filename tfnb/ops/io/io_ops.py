"""Files: checkpoints of the second format, sharded names, whole files.

The format is implemented in :mod:`tfnb.core.files.tensor_bundle`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.files.tensor_slice import parse_shape_and_slice
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
    no_outputs,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.files import checkpoint_reader, file_system, tensor_bundle
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.core.op_kernel import OpKernelContext
else:
    checkpoint_reader = later("tfnb.core.files.checkpoint_reader", in_step=True)
    file_system = later("tfnb.core.files.file_system", in_step=True)
    tensor_bundle = later("tfnb.core.files.tensor_bundle", in_step=True)

EXPORTS = {
    "tf": ["read_file", "write_file", "matching_files"],
    "io": ["read_file", "write_file", "matching_files"],
}


def scalar_text(value: Array) -> str:
    """Return a scalar string tensor as text.

    Raises:
      InvalidArgumentError: the tensor is not a scalar.
    """
    found = np.asarray(value, dtype=object)
    if found.ndim:
        raise errors.invalid_argument(
            f"Expected a scalar string, but it has shape {shape_text(found.shape)}"
        )
    return bytes(found[()]).decode("utf-8", "surrogateescape")


def _texts(value: Array, what: str) -> list[str]:
    found = np.asarray(value, dtype=object)
    if found.ndim != 1:
        raise errors.invalid_argument(
            f"Input {what} should be an 1-D tensor of strings, but its shape is "
            f"{shape_text(found.shape)}"
        )
    return [bytes(text).decode("utf-8", "surrogateescape") for text in found]


def _string(text: str) -> Array:
    return np.array(text.encode("utf-8", "surrogateescape"), dtype=object)


def _check_counts(names: list[str], slices: list[str], count: int) -> None:
    if len(names) != len(slices) or len(names) != count:
        raise errors.invalid_argument(
            f"tensor_names and shape_and_slices have different number of elements than the "
            f"tensors: {len(names)}, {len(slices)} and {count}"
        )


# -- checkpoints


def _save_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    merge_shapes(c.with_rank(1, 1), c.with_rank(2, 1))
    return []


def _restore_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    names, slices = c.with_rank(1, 1), c.with_rank(2, 1)
    merge_shapes(names, slices)
    specs = c.constant_value(2)
    if specs is None:
        return [UNKNOWN_SHAPE] * c.num_outputs
    shapes = []
    for spec in specs.tolist():
        if not spec:
            shapes.append(UNKNOWN_SHAPE)
            continue
        _, _, shape = parse_shape_and_slice(spec.decode())
        shapes.append(TensorShape(list(shape)))
    return shapes


@register_op(
    "SaveV2",
    "prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes ->",
    "dtypes: list(type) >= 1",
    stateful=True,
    shape=_save_shape,
    devices=("CPU",),
    expensive=True,
    effects="write prefix",
    traits="checkpoint",
)
def save_v2(
    ctx: OpKernelContext,
    prefix: Array,
    tensor_names: Array,
    shape_and_slices: Array,
    tensors: list[Array],
    *,
    dtypes: list[DType],
) -> None:
    """Write tensors, or slices of larger ones, to one checkpoint."""
    names, specs = _texts(tensor_names, "tensor_names"), _texts(shape_and_slices, "slices")
    _check_counts(names, specs, len(tensors))
    writer = tensor_bundle.BundleWriter(scalar_text(prefix))
    try:
        for name, spec, value, dtype in zip(names, specs, tensors, dtypes):
            if not spec:
                writer.add(name, value, dtype)
                continue
            shape, where, part = parse_shape_and_slice(spec)
            if tuple(np.shape(value)) != part:
                raise errors.invalid_argument(
                    f"Slice specification of '{name}' requires the shape {shape_text(part)}, but "
                    f"the tensor has {shape_text(np.shape(value))}: {spec}"
                )
            writer.add_slice(name, shape, where, value, dtype)
        writer.finish()
    except BaseException:
        writer.abandon()
        raise


@register_op(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: dtypes",
    "dtypes: list(type) >= 1",
    stateful=True,
    shape=_restore_shape,
    devices=("CPU",),
    expensive=True,
    effects="read prefix",
    traits="unseen_state checkpoint loads",
)
def restore_v2(
    ctx: OpKernelContext,
    prefix: Array,
    tensor_names: Array,
    shape_and_slices: Array,
    *,
    dtypes: list[DType],
) -> tuple[Array, ...]:
    """Read tensors, or slices of them, from a checkpoint."""
    names, specs = _texts(tensor_names, "tensor_names"), _texts(shape_and_slices, "slices")
    _check_counts(names, specs, len(dtypes))
    # The op also reads the first format, so that new graphs can use old checkpoints.
    with checkpoint_reader.CheckpointReader(scalar_text(prefix)) as reader:
        return tuple(
            _restore_one(reader, name, spec, dtype)
            for name, spec, dtype in zip(names, specs, dtypes)
        )


def _restore_one(
    reader: checkpoint_reader.CheckpointReader, name: str, spec: str, dtype: Attr
) -> Array:
    if not spec:
        return reader.restore(name, None, None, dtype)
    shape, where, _ = parse_shape_and_slice(spec)
    return reader.restore(name, shape, where, dtype)


@register_op(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string ->",
    "delete_old_dirs: bool = true",
    "allow_missing_files: bool = false",
    stateful=True,
    shape=no_outputs,
    devices=("CPU",),
    expensive=True,
    effects="write checkpoint_prefixes, write destination_prefix",
    traits="checkpoint",
)
def merge_v2_checkpoints(
    ctx: OpKernelContext,
    checkpoint_prefixes: Array,
    destination_prefix: Array,
    *,
    delete_old_dirs: bool,
    allow_missing_files: bool,
) -> None:
    """Merge several checkpoints into one: move the data files, merge the tables."""
    prefixes, merged = (
        _texts(checkpoint_prefixes, "checkpoint_prefixes"),
        scalar_text(destination_prefix),
    )
    tensor_bundle.merge_bundles(prefixes, merged, allow_missing_files=allow_missing_files)
    for prefix in prefixes:
        if prefix == merged:
            continue
        file_system.remove_if_exists(tensor_bundle.index_path(prefix), prefix)
        folder = os.path.dirname(prefix)
        if delete_old_dirs and folder != os.path.dirname(merged):
            # Several shards may share the folder: it is removed once it is empty.
            file_system.remove_empty_directory(folder, prefix)


# -- names


def _scalars(c: InferenceContext) -> TensorShape:
    for position in range(len(c.inputs)):
        c.with_rank(position, 0)
    return SCALAR_SHAPE


def _scalar_number(name: str, value: Array) -> int:
    if np.ndim(value):
        shape = ",".join(map(str, np.shape(value)))
        raise errors.invalid_argument(f"{name} must be a scalar, got shape [{shape}]")
    return int(value)


@register_op(
    "ShardedFilename",
    "basename: string, shard: int32, num_shards: int32 -> filename: string",
    shape=_scalars,
    devices=("CPU",),
)
def sharded_filename(xp: Xp, basename: Array, shard: Array, num_shards: Array) -> Array:
    """Return a name of the form basename-SSSSS-of-NNNNN."""
    number, count = _scalar_number("shard", shard), _scalar_number("num_shards", num_shards)
    return _string(f"{scalar_text(basename)}-{number:05d}-of-{count:05d}")


@register_op(
    "ShardedFilespec",
    "basename: string, num_shards: int32 -> filename: string",
    shape=_scalars,
    devices=("CPU",),
)
def sharded_filespec(xp: Xp, basename: Array, num_shards: Array) -> Array:
    """Return a pattern of the form basename-?????-of-NNNNN."""
    count = _scalar_number("num_shards", num_shards)
    return _string(f"{scalar_text(basename)}-?????-of-{count:05d}")


# -- whole files


def _write_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    c.with_rank(1, 0)
    return []


@register_op(
    "ReadFile",
    "filename: string -> contents: string",
    shape=unchanged_shape,
    devices=("CPU",),
    expensive=True,
    effects="read filename",
    traits="loads",
)
def read_file(xp: Xp, filename: Array) -> Array:
    """Return the bytes of a file."""
    return np.array(file_system.read_file(scalar_text(filename)), dtype=object)


@register_op(
    "WriteFile",
    "filename: string, contents: string ->",
    stateful=True,
    shape=_write_shape,
    devices=("CPU",),
    expensive=True,
    effects="write filename",
)
def write_file(ctx: OpKernelContext, filename: Array, contents: Array) -> None:
    """Write a file; create its folder if necessary."""
    data = bytes(np.asarray(contents, dtype=object)[()])
    file_system.write_file(scalar_text(filename), data, makes_folder=True)


@register_op(
    "MatchingFiles",
    "pattern: string -> filenames: string",
    shape=lambda c: TensorShape([None]),
    devices=("CPU",),
    expensive=True,
    effects="read pattern",
)
def matching_files(xp: Xp, pattern: Array) -> Array:
    """Return the files that match one or several patterns, sorted."""
    patterns = np.asarray(pattern, dtype=object).reshape(-1)
    found: set[str] = set()
    for text in patterns.tolist():
        found.update(file_system.matching_files(text.decode("utf-8", "surrogateescape")))
    names = np.empty(len(found), dtype=object)
    for position, name in enumerate(sorted(found)):
        names[position] = name.encode("utf-8", "surrogateescape")
    return names


for _op in (save_v2, restore_v2, merge_v2_checkpoints, sharded_filename, sharded_filespec):
    _op.not_differentiable()
for _op in (read_file, write_file, matching_files):
    _op.not_differentiable()
