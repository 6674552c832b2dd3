"""Datasets of the contents of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.library.data.dataset import Dataset, _slices
from tfnb.library.data.tensor_spec import TensorSpec
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import reshape, shape
from tfnb.ops.dataset import dataset_file_ops
from tfnb.ops.io import io_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"data": ["FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]}

_BUFFER_BYTES = 256 * 1024


def _filenames_dataset(filenames: TensorLike) -> Dataset:
    """Return the names as a dataset.

    Raises:
      TypeError: they are not strings.
    """
    if isinstance(filenames, Dataset):
        spec = filenames.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype is not dtypes.string:
            raise TypeError(
                "The `filenames` argument must contain `tf.string` elements. Got a dataset of "
                f"{spec!r}."
            )
        if spec.shape.rank not in (None, 0):
            raise TypeError("The `filenames` argument must contain scalar elements.")
        return filenames
    names = convert_to_tensor(filenames, dtypes.string)
    return _slices(reshape(names, [-1], name="flat_filenames"), is_files=True)


def _or_default(
    value: TensorLike, name: str, default: Any, dtype: DTypeLike = dtypes.int64
) -> Tensor:
    tensor: Tensor = convert_to_tensor(default if value is None else value, dtype, name=name)
    return tensor


def _read(
    filenames: TensorLike, num_parallel_reads: TensorLike, build: Callable[[Any], Any]
) -> tuple[Tensor, Nested, list[Dataset]]:
    """Return a dataset over the records of all files, file after file or several in turn."""
    names = _filenames_dataset(filenames)

    def read_one_file(filename: TensorLike) -> Dataset:
        return Dataset(build(filename), TensorSpec([], dtypes.string))

    if num_parallel_reads is None:
        found = names.flat_map(read_one_file)
    else:
        from tfnb.library.data.experimental import parallel_interleave

        found = parallel_interleave(read_one_file, cycle_length=num_parallel_reads)(names)
    return found._variant_tensor, found.element_spec, [names]


def _records(
    op: Callable[..., TensorResult],
    filenames: TensorLike,
    compression_type: TensorLike,
    buffer_size: TensorLike,
    num_parallel_reads: TensorLike,
) -> tuple[Any, ...]:
    """Return the records of files that may be compressed, read by one op."""

    def of_file(filename: TensorLike) -> Any:
        return op(
            filename,
            _or_default(compression_type, "compression_type", "", dtypes.string),
            _or_default(buffer_size, "buffer_size", _BUFFER_BYTES),
        )

    return _read(filenames, num_parallel_reads, of_file)


class TextLineDataset(Dataset):
    """The lines of files, without their line ends.

    Args:
      filenames: a name, several, or a dataset of names.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: in bytes.
      num_parallel_reads: how many files take turns; without it, one file after the other.
      name: accepted.
    """

    def __init__(
        self,
        filenames: TensorLike,
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
        name: str | None = None,
    ) -> None:
        op = dataset_file_ops.text_line_dataset
        super().__init__(
            *_records(op, filenames, compression_type, buffer_size, num_parallel_reads)
        )


class TFRecordDataset(Dataset):
    """The records of TFRecord files; arguments as of :class:`TextLineDataset`."""

    def __init__(
        self,
        filenames: TensorLike,
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
        name: str | None = None,
    ) -> None:
        op = dataset_file_ops.tf_record_dataset
        super().__init__(
            *_records(op, filenames, compression_type, buffer_size, num_parallel_reads)
        )


class FixedLengthRecordDataset(Dataset):
    """Records of one size from files.

    Args:
      filenames: a name, several, or a dataset of names.
      record_bytes: the size of a record.
      header_bytes: how many bytes to skip at the beginning of a file.
      footer_bytes: how many bytes to skip at its end.
      buffer_size: in bytes.
      compression_type: "", "ZLIB" or "GZIP".
      num_parallel_reads: how many files take turns.
      name: accepted.
    """

    def __init__(
        self,
        filenames: TensorLike,
        record_bytes: TensorLike,
        header_bytes: TensorLike | None = None,
        footer_bytes: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        compression_type: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
        name: str | None = None,
    ) -> None:
        def build(filename: TensorLike) -> TensorResult:
            size = convert_to_tensor(record_bytes, dtypes.int64, name="record_bytes")
            return dataset_file_ops.fixed_length_record_dataset_v2(
                filename,
                _or_default(header_bytes, "header_bytes", 0),
                size,
                _or_default(footer_bytes, "footer_bytes", 0),
                _or_default(buffer_size, "buffer_size", _BUFFER_BYTES),
                _or_default(compression_type, "compression_type", "", dtypes.string),
            )

        super().__init__(*_read(filenames, num_parallel_reads, build))


def list_files(file_pattern: TensorLike, shuffle: bool | None, seed: TensorLike) -> Dataset:
    """Return the names of files that match; in a random order unless ``shuffle`` is False."""
    from tfnb.ops.math.comparison_ops import greater
    from tfnb.ops.math.cwise_binary_ops import maximum
    from tfnb.ops.math.math_ops import add
    from tfnb.ops.strings.string_join_ops import reduce_join

    with name_scope("list_files"):
        pattern = convert_to_tensor(file_pattern, dtypes.string, name="file_pattern")
        matching = io_ops.matching_files(pattern)
        has_any = greater(shape(matching)[0], 0, name="match_not_empty")
        joined = reduce_join(pattern, separator=", ")
        message = add("No files matched pattern: ", joined, name="message")
        check = assert_(has_any, [message], summarize=1, name="assert_not_empty")
        with control_dependencies([check]):
            matching = identity(matching)
        dataset = _slices(matching, is_files=True)
        if shuffle is None or shuffle:
            count = maximum(shape(matching, out_type=dtypes.int64)[0], 1)
            dataset = dataset.shuffle(count, seed=seed)
        return dataset
