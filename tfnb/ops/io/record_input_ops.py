"""RecordInput: records of many files in a random order, endlessly.

Each epoch reads the files in another order, fills a buffer with their records, and returns random
records of the buffer until it is empty. TensorFlow reads in its own threads, so that its order
changes from run to run; here the seed determines it. Corresponds to ``record_yielder.cc``.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.core.files.tf_record import inflated, tf_records
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.kernel_types import Array
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext


class RecordYielder:
    """A thread-safe source of records.

    Args:
      file_pattern: the pattern of the files' names.
      seed: the seed of the order.
      buffer_size: the number of records in the buffer.
      shift_ratio: the fraction of the files by which each epoch begins later.
      compression_type: "", "ZLIB" or "GZIP".
    """

    def __init__(
        self,
        file_pattern: str,
        seed: int,
        buffer_size: int,
        shift_ratio: float,
        compression_type: str,
    ) -> None:
        self._pattern = file_pattern
        self._seed = seed
        self._buffer_size = max(1, buffer_size)
        self._shift_ratio = shift_ratio
        self._compression_type = compression_type
        self._lock = threading.Lock()
        self._records = self._all()  # guarded by self._lock

    def take(self, count: int) -> list[bytes]:
        """Return the next records.

        Raises:
          NotFoundError: no file exists, or no file has a record.
          DataLossError: a file is damaged.
        """
        with self._lock:
            try:
                return [next(self._records) for _ in range(count)]
            except BaseException:
                # An iterator that raised an exception, even an interrupt, is exhausted, so a new
                # one is made.
                self._records = self._all()
                raise

    def _all(self) -> Iterator[bytes]:
        epoch = 0
        while True:
            is_empty = True
            for record in self._epoch(epoch):
                is_empty = False
                yield record
            if is_empty:
                raise errors.not_found(f"Found no records at {self._pattern}")
            epoch += 1

    def _epoch(self, epoch: int) -> Iterator[bytes]:
        files = file_system.matching_files(self._pattern)
        if not files:
            raise errors.not_found(f"Found no files at {self._pattern}")
        numbers = random.Random(self._seed + epoch)
        numbers.shuffle(files)
        shift = int(self._shift_ratio * len(files) * epoch) % len(files)
        buffer: list[bytes] = []
        for name in [*files[shift:], *files[:shift]]:
            data = file_system.read_file(name)
            if data and self._compression_type:
                data = inflated(data, self._compression_type)
            for _, record in tf_records(data):
                if len(buffer) == self._buffer_size:
                    yield _any_of(buffer, numbers)
                buffer.append(record)
        while buffer:
            yield _any_of(buffer, numbers)


def _any_of(buffer: list[bytes], numbers: random.Random) -> bytes:
    """Remove a random record and return it."""
    place = numbers.randrange(len(buffer))
    buffer[place], buffer[-1] = buffer[-1], buffer[place]
    return buffer.pop()


def _records_shape(c: InferenceContext) -> TensorShape:
    return TensorShape(None)


@register_op(
    "RecordInput", "-> records: string", "file_pattern: string", "file_random_seed: int = 301",
    "file_shuffle_shift_ratio: float = 0", "file_buffer_size: int = 10000",
    "file_parallelism: int = 16", "batch_size: int = 32", "compression_type: string = ''",
    stateful=True, shape=_records_shape, devices=("CPU",), effects="read",
)  # fmt: skip
def record_input(
    ctx: OpKernelContext,
    *,
    file_pattern: str,
    file_random_seed: int,
    file_shuffle_shift_ratio: float,
    file_buffer_size: int,
    batch_size: int,
    compression_type: str,
) -> Array:
    """Return the next ``batch_size`` records of the files."""
    yielder: RecordYielder | None = ctx.kernel_state.get("yielder")
    if yielder is None:
        if compression_type not in ("", "ZLIB", "GZIP"):
            raise errors.invalid_argument(f"Unsupported compression_type: {compression_type}")
        yielder = RecordYielder(
            file_pattern,
            file_random_seed,
            file_buffer_size,
            file_shuffle_shift_ratio,
            compression_type,
        )
        # Two first steps may run at the same time: the first yielder is kept.
        yielder = ctx.kernel_state.setdefault("yielder", yielder)
    found = np.empty(batch_size, dtype=object)
    found[:] = yielder.take(batch_size)
    return found


record_input.not_differentiable()
