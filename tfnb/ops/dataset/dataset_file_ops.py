"""Datasets of the contents of files: lines, records, pieces of a fixed size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, effects, errors
from tfnb.core.files import file_system
from tfnb.core.files.tf_record import inflated, tf_records
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.dataset.dataset_iterators import (
    DatasetBase,
    Element,
    ImmediateIterator,
    go_on_or_end,
    scalar_int,
    scalar_of,
    tensor_of,
)
from tfnb.ops.dataset.dataset_source_ops import METADATA, handle_of_scalars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.core.kernel_types import Array, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext

_COMPRESSIONS = ("", "ZLIB", "GZIP")


class _FilesIterator(ImmediateIterator):
    """The records of several files in turn; a damaged file ends at the damage."""

    def __init__(
        self,
        names: Sequence[bytes],
        read: Callable[[str, int], Iterator[bytes]],
        guard: effects.Guard | None,
    ) -> None:
        self._names, self._read, self._guard = names, read, guard
        self._next = 0
        self._records: Iterator[bytes] | None = None

    def take(self, ctx: OpKernelContext) -> Element | None:
        """Return the next record."""
        while True:
            if self._records is None:
                if self._next >= len(self._names):
                    return None
                number, self._next = self._next, self._next + 1
                name = self._names[number].decode("utf-8", "surrogateescape")
                with effects.watched_by(self._guard):
                    self._records = self._read(name, number)
            record = next(self._records, None)
            if record is not None:
                return (tensor_of(record),)
            self._records = None
            go_on_or_end(ctx)


def names_of(filenames: Array) -> list[bytes]:
    """Return the names in a scalar or vector."""
    if np.ndim(filenames) > 1:
        raise errors.invalid_argument("`filenames` must be a scalar or a vector.")
    return [bytes(name) for name in np.asarray(filenames).reshape(-1)]


def compression_of(compression_type: Array) -> str:
    """Return the compression; raise an error if it is unknown."""
    if np.ndim(compression_type):
        raise errors.invalid_argument("compression_type must be a scalar")
    kind: str = np.asarray(compression_type).item().decode()
    if kind not in _COMPRESSIONS:
        raise errors.invalid_argument("Unsupported compression_type.")
    return kind


def contents_of(name: str, compression: str) -> bytes:
    """Return the decompressed contents of a file."""
    data = file_system.read_file(name)
    return inflated(data, compression) if compression and data else data


def _records_dataset(filenames: Array, read: Callable[[str, int], Iterator[bytes]]) -> DatasetBase:
    names, guard = names_of(filenames), effects.current_guard()
    return DatasetBase(
        (dtypes.string,), (TensorShape(()),), lambda scope: _FilesIterator(names, read, guard)
    )


def _check_buffer(buffer_size: Array, least: int = 0, none: str = "default") -> None:
    if scalar_int(buffer_size, "buffer_size") < least:
        raise errors.invalid_argument(f"`buffer_size` must be >= 0 (0 == {none})")


_FILES = "filenames: string, compression_type: string, buffer_size: int64"


@register_op(
    "TextLineDataset", f"{_FILES} -> handle: variant", METADATA,
    stateful=True, shape=handle_of_scalars, devices=("CPU",), effects="read filenames",
)  # fmt: skip
def text_line_dataset(
    xp: Xp, filenames: Array, compression_type: Array, buffer_size: Array
) -> Variant:
    """Return the lines of files, without line ends."""
    compression = compression_of(compression_type)
    _check_buffer(buffer_size)

    def read(name: str, number: int) -> Iterator[bytes]:
        lines = contents_of(name, compression).split(b"\n")
        if not lines[-1]:
            lines.pop()
        return iter([line.removesuffix(b"\r") for line in lines])

    return _records_dataset(filenames, read)


def _tf_record_dataset(filenames: Array, compression_type: Array, offsets: Array) -> DatasetBase:
    kind: bytes = np.asarray(scalar_of(compression_type, "compression_type")).item()
    # TFRecord readers treat an unknown compression as none.
    compression = kind.decode() if kind in (b"ZLIB", b"GZIP") else ""
    starts = [int(start) for start in np.asarray(offsets).reshape(-1)]
    if not np.ndim(offsets) or (starts and len(starts) != len(names_of(filenames))):
        raise errors.invalid_argument("`byte_offsets` must be of same size as `filenames`")

    def read(name: str, number: int) -> Iterator[bytes]:
        data = contents_of(name, compression)
        start = starts[number] if starts else 0
        return (record for _, record in tf_records(data[start:] if start else data))

    return _records_dataset(filenames, read)


@register_op(
    "TFRecordDataset", f"{_FILES} -> handle: variant", METADATA,
    stateful=True, shape=handle_of_scalars, devices=("CPU",), effects="read filenames",
)  # fmt: skip
def tf_record_dataset(
    xp: Xp, filenames: Array, compression_type: Array, buffer_size: Array
) -> Variant:
    """Return the records of TFRecord files."""
    _check_buffer(buffer_size, -1, "no buffering")  # -1: TensorFlow chooses
    return _tf_record_dataset(filenames, compression_type, ())


@register_op(
    "TFRecordDatasetV2", f"{_FILES}, byte_offsets: int64 -> handle: variant", METADATA,
    stateful=True, shape=handle_of_scalars, devices=("CPU",), effects="read filenames",
)  # fmt: skip
def tf_record_dataset_v2(
    xp: Xp, filenames: Array, compression_type: Array, buffer_size: Array, byte_offsets: Array
) -> Variant:
    """Return the records of TFRecord files, each file from a given offset on."""
    _check_buffer(buffer_size, -1, "no buffering")  # -1: TensorFlow chooses
    return _tf_record_dataset(filenames, compression_type, byte_offsets)


def _fixed_length(
    filenames: Array,
    header_bytes: Array,
    record_bytes: Array,
    footer_bytes: Array,
    compression: str,
) -> DatasetBase:
    header = scalar_int(header_bytes, "header_bytes")
    size = scalar_int(record_bytes, "record_bytes")
    footer = scalar_int(footer_bytes, "footer_bytes")
    if header < 0:
        raise errors.invalid_argument("`header_bytes` must be >= 0")
    if size <= 0:
        raise errors.invalid_argument("`record_bytes` must be > 0")
    if footer < 0:
        raise errors.invalid_argument("`footer_bytes` must be >= 0")

    def read(name: str, number: int) -> Iterator[bytes]:
        data = contents_of(name, compression)
        body = len(data) - header - footer
        if body % size or body < 0:
            raise errors.invalid_argument(
                f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
                f'"{name}" has body length {body} bytes, which is not an exact multiple of the '
                f"record length ({size} bytes)."
            )
        starts = range(header, header + body, size)
        return iter([data[start : start + size] for start in starts])

    return _records_dataset(filenames, read)


_FIXED = (
    "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, "
    "buffer_size: int64"
)


@register_op(
    "FixedLengthRecordDataset", f"{_FIXED} -> handle: variant", METADATA,
    stateful=True, shape=handle_of_scalars, devices=("CPU",), effects="read filenames",
)  # fmt: skip
def fixed_length_record_dataset(
    xp: Xp,
    filenames: Array,
    header_bytes: Array,
    record_bytes: Array,
    footer_bytes: Array,
    buffer_size: Array,
) -> Variant:
    """Return the fixed-size records of files."""
    _check_buffer(buffer_size)
    return _fixed_length(filenames, header_bytes, record_bytes, footer_bytes, "")


@register_op(
    "FixedLengthRecordDatasetV2", f"{_FIXED}, compression_type: string -> handle: variant",
    METADATA, stateful=True, shape=handle_of_scalars, devices=("CPU",), effects="read filenames",
)  # fmt: skip
def fixed_length_record_dataset_v2(
    xp: Xp,
    filenames: Array,
    header_bytes: Array,
    record_bytes: Array,
    footer_bytes: Array,
    buffer_size: Array,
    compression_type: Array,
) -> Variant:
    """Return the fixed-size records of files, which may be compressed."""
    _check_buffer(buffer_size)
    compression = compression_of(compression_type)
    return _fixed_length(filenames, header_bytes, record_bytes, footer_bytes, compression)
