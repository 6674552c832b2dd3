"""Matrices of a checkpoint for a model with another vocabulary: rows and columns reordered.

Corresponds to TensorFlow's ``generate_vocab_remapping_op.cc`` and ``load_and_remap_matrix_op.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.files import file_system
from tfnb.core.files.checkpoint_reader import CheckpointReader
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.io.io_ops import scalar_text
from tfnb.ops.lookup.lookup_tables import LINE_NUMBER, WHOLE_LINE, HashTable, entries_of_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Outputs
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext


def _vocabulary(name: str, *, by_line: bool, size: int = -1) -> HashTable:
    """Return a table from line numbers to lines, or from lines to their numbers."""
    types = (dtypes.string, dtypes.int64) if by_line else (dtypes.int64, dtypes.string)
    table = HashTable(name, *types)
    entries = entries_of_text(
        table,
        name,
        file_system.read_file(name),
        key_index=WHOLE_LINE if by_line else LINE_NUMBER,
        value_index=LINE_NUMBER if by_line else WHOLE_LINE,
        vocab_size=size,
        delimiter="\t",
        offset=0,
    )
    table.fill(entries, len(entries))
    return table


def _remapping_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    c.with_rank(1, 0)
    return [TensorShape([c.attr("num_new_vocab")]), TensorShape([])]


@register_op(
    "GenerateVocabRemapping",
    "new_vocab_file: string, old_vocab_file: string -> remapping: int64, num_present: int32",
    "new_vocab_offset: int >= 0",
    "num_new_vocab: int >= 0",
    "old_vocab_size: int >= -1 = -1",
    shape=_remapping_shape,
    devices=("CPU",),
    expensive=True,
    effects="read new_vocab_file, read old_vocab_file",
)
def generate_vocab_remapping(
    ctx: OpKernelContext,
    new_vocab_file: Array,
    old_vocab_file: Array,
    *,
    new_vocab_offset: int,
    num_new_vocab: int,
    old_vocab_size: int,
) -> Outputs:
    """Return the old line, or -1, of each word of a part of the new vocabulary."""
    new = _vocabulary(scalar_text(new_vocab_file), by_line=False)
    if new.size() < new_vocab_offset + num_new_vocab:
        raise errors.invalid_argument(
            "lookup table size must be larger than last new vocab entry's line"
        )
    old = _vocabulary(scalar_text(old_vocab_file), by_line=True, size=old_vocab_size)
    lines = np.arange(new_vocab_offset, new_vocab_offset + num_new_vocab, dtype=np.int64)
    words = new.find(lines, np.array(b"", object))
    found = old.find(words, np.int64(-1))
    return found, np.int32((found >= 0).sum())


def _matrix_shape(c: InferenceContext) -> TensorShape:
    # The path may be a vector with one element.
    c.with_rank_at_most(0, 1)
    c.with_rank(1, 0)
    c.with_rank(2, 1)
    c.with_rank(3, 1)
    c.with_rank_at_most(4, 1)
    return TensorShape([c.attr("num_rows"), c.attr("num_cols")])


def _check_old_ids(remapping: Array) -> None:
    """Refuse an old row or column that would be used twice."""
    places: dict[int, int] = {}
    for place, old in enumerate(remapping.tolist()):
        if old < 0:
            continue
        first = places.setdefault(old, place)
        if first != place:
            raise errors.unimplemented(
                f"Old ID {old} is mapped to both new ID {first} and {place}, which is not "
                "supported."
            )


@register_op(
    "LoadAndRemapMatrix",
    "ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, "
    "initializing_values: float -> output_matrix: float",
    "num_rows: int >= 0",
    "num_cols: int >= 1",
    "max_rows_in_memory: int = -1",
    stateful=True,
    shape=_matrix_shape,
    devices=("CPU",),
    expensive=True,
    effects="read ckpt_path",
)
def load_and_remap_matrix(
    ctx: OpKernelContext,
    ckpt_path: Array,
    old_tensor_name: Array,
    row_remapping: Array,
    col_remapping: Array,
    initializing_values: Array,
    *,
    num_rows: int,
    num_cols: int,
) -> Array:
    """Return a matrix with the rows and columns of a checkpoint.

    New rows and columns have given values.
    """
    if row_remapping.ndim != 1 or row_remapping.size != num_rows:
        raise errors.invalid_argument(
            f"Size of row_remapping is {row_remapping.size} instead of being equal to "
            f"num_rows={num_rows}"
        )
    if col_remapping.size and col_remapping.size != num_cols:
        raise errors.invalid_argument(
            f"Provided col_remapping, but its size is {col_remapping.size} instead of being equal "
            f"to num_cols={num_cols}"
        )
    _check_old_ids(row_remapping)
    _check_old_ids(col_remapping)
    name = scalar_text(old_tensor_name)
    if np.size(ckpt_path) != 1:
        raise errors.invalid_argument(
            f"The `ckpt_path` tensor must have exactly one element, got tensor of shape "
            f"{shape_text(np.shape(ckpt_path))}"
        )
    path = scalar_text(np.reshape(ckpt_path, ()))
    with CheckpointReader(path) as reader:
        if not reader.has_tensor(name):
            raise errors.not_found(f"Key {name} not found in checkpoint")
        shape, dtype = reader.shape_and_dtype(name)
        _check_tensor(name, shape, dtype, num_cols, has_columns=bool(col_remapping.size))
        old = np.asarray(reader.lookup(name))
    columns = col_remapping if col_remapping.size else np.arange(num_cols)
    if row_remapping.size and int(row_remapping.max()) >= shape[0]:
        raise errors.internal(
            f"Extent in dimension 0 out of bounds: shape = {shape_text(shape)}, row = "
            f"{int(row_remapping.max())}"
        )
    if columns.size and int(columns.max()) >= shape[1]:
        raise errors.invalid_argument(
            f"col_remapping has column {int(columns.max())}, but the tensor has shape "
            f"{shape_text(shape)}"
        )
    is_old = (row_remapping >= 0)[:, None] & (columns >= 0)[None, :]
    missing = int((~is_old).sum())
    values = initializing_values.reshape(-1)
    if values.size < missing:
        raise errors.invalid_argument(
            f"initializing_values contained {values.size} elements, but more missing values remain."
        )
    if values.size > missing:
        raise errors.invalid_argument(
            f"initializing_values contained {values.size} elements, but only {missing} elements "
            "were used to fill in missing values."
        )
    out = np.empty((num_rows, num_cols), np.float32)
    if is_old.any():
        out[...] = old[np.maximum(row_remapping, 0)][:, np.maximum(columns, 0)]
    out[~is_old] = values
    return out


def _check_tensor(
    name: str, shape: tuple[int, ...], dtype: dtypes.DType, num_cols: int, *, has_columns: bool
) -> None:
    if len(shape) != 2:
        raise errors.invalid_argument(
            f"Tensor {name} has shape {shape_text(shape)} of invalid rank {len(shape)} instead of "
            "expected shape of rank 2."
        )
    if dtype is not dtypes.float32:
        raise errors.invalid_argument(
            f"Tensor {name} has invalid type {dtype.name} instead of expected type float"
        )
    if not has_columns and shape[1] != num_cols:
        raise errors.invalid_argument(
            f"Tensor {name} has shape {shape_text(shape)}, where the size of its 2nd dimension is "
            f"{shape[1]} instead of being equal to num_cols={num_cols}"
        )


generate_vocab_remapping.not_differentiable()
load_and_remap_matrix.not_differentiable()
