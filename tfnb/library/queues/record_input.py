"""``RecordInput``: the public class for the op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.scopes import name_scope
from tfnb.ops.array.concat_ops import split
from tfnb.ops.array.shape_ops import reshape
from tfnb.ops.io.record_input_ops import record_input

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested


class RecordInput:
    """Records of many TFRecord files in a random order, without end.

    Args:
      file_pattern: a pattern for the files.
      batch_size: the number of records in a batch.
      buffer_size: the size of the buffer in which records are mixed.
      parallelism: accepted; files are read one by one.
      shift_ratio: the fraction of all files by which the start moves in each epoch.
      seed: of the order.
      name: of the op.
      batches: the number of batches at a time; None for one, as a vector.
      compression_type: "", "ZLIB" or "GZIP".
    """

    def __init__(
        self,
        file_pattern: str,
        batch_size: int = 1,
        buffer_size: int = 1,
        parallelism: int = 1,
        shift_ratio: float = 0,
        seed: int = 0,
        name: str | None = None,
        batches: int | None = None,
        compression_type: str | None = None,
    ) -> None:
        self._batch_size = batch_size * (batches or 1)
        self._attrs: dict[str, Any] = {
            "file_pattern": file_pattern,
            "file_random_seed": seed,
            "file_shuffle_shift_ratio": shift_ratio,
            "file_buffer_size": buffer_size,
            "file_parallelism": parallelism,
            "batch_size": self._batch_size,
            "compression_type": compression_type or "",
        }
        self._batches = batches
        self._name = name

    def get_yield_op(self) -> Nested:
        """Return a vector of records, or with ``batches`` a list of lists of scalars."""
        records = record_input(name=self._name, **self._attrs)
        if self._batches is None:
            return records
        with name_scope(self._name or "RecordInput"):
            rows = [reshape(row, []) for row in split(records, self._batch_size, 0)]
        return [rows[first :: self._batches] for first in range(self._batches)]
