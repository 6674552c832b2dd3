"""Rows of ragged tensors by their indices."""

from __future__ import annotations

from typing import Any

from tfnb.library.ragged.ragged_tensor import RaggedTensor
from tfnb.ops.sparse.ragged_ops import ragged_gather


def ragged_gather_rows(params: RaggedTensor, indices: Any) -> Any:
    """Return rows by index; ragged indices add a ragged dimension."""
    if isinstance(indices, RaggedTensor):
        return indices.with_values(ragged_gather_rows(params, indices.values))
    depth = params.ragged_rank + indices.shape.ndims - 1
    if depth == 0:
        raise ValueError("indices must be a vector, or ragged")
    found = ragged_gather(
        params_nested_splits=list(params.nested_row_splits),
        params_dense_values=params.flat_values,
        indices=indices,
        OUTPUT_RAGGED_RANK=depth,
    )
    splits, flat = found[0], found[1]
    made: Any = flat
    made.set_shape([None, *params.flat_values.shape[1:]])
    for one in reversed(list(splits)):
        made = RaggedTensor(made, one, internal=True)
    return made
