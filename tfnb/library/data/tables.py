"""Datasets of CSV files, databases and Example messages, and tables and files made of datasets."""

from __future__ import annotations

import csv
import io
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.files import file_system
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import add_to_collection
from tfnb.framework.tensor import Tensor
from tfnb.library.data.attributes import deterministic_word, flat_attrs
from tfnb.library.data.dataset import AUTOTUNE, Dataset
from tfnb.library.data.experimental import parallel_interleave
from tfnb.library.data.ragged_spec import RaggedTensorSpec
from tfnb.library.data.readers import TFRecordDataset
from tfnb.library.data.structure import SparseTensorSpec
from tfnb.library.data.tensor_spec import TensorSpec
from tfnb.library.tables.lookup import StaticHashTable, StaticVocabularyTable, TableInitializer
from tfnb.library.tables.parsing_features import SparseFeature, columns_of_example, put_together
from tfnb.library.tables.ragged_features import RaggedFeature
from tfnb.ops.dataset import dataset_table_ops
from tfnb.ops.dataset.dataset_parse_ops import parse_example_dataset_v2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "data.experimental": [
        "CsvDataset", "DatasetInitializer", "SqlDataset", "TFRecordWriter",
        "index_table_from_dataset", "make_batched_features_dataset", "make_csv_dataset",
        "parse_example_dataset", "table_from_dataset",
    ],
}  # fmt: skip

_BUFFER_BYTES = 4 * 1024 * 1024
_CSV_DTYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


def _default_of(value: TensorLike) -> Tensor:
    """Return a column's default: a vector with one value, or an empty one for a dtype.

    Raises:
      TypeError: a CSV file cannot have the dtype.
    """
    if isinstance(value, Tensor | np.ndarray | list | int | float | str | bytes):
        tensor: Tensor = convert_to_tensor(value)
    else:
        tensor = convert_to_tensor(np.zeros(0, dtypes.as_dtype(value).as_numpy_dtype), value)
    if tensor.dtype not in _CSV_DTYPES:
        raise TypeError(f"A column of a CSV file cannot be of {tensor.dtype.name}")
    return tensor


def _vector(value: TensorLike, name: str) -> Tensor:
    found: Tensor = convert_to_tensor([] if value is None else value, dtypes.int64, name=name)
    return found


class CsvDataset(Dataset):
    """The rows of CSV files.

    Args:
      filenames: a name or several.
      record_defaults: for each column its default, or its dtype if it is required.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: in bytes.
      header: whether the first line of a file is skipped.
      field_delim: between columns.
      use_quote_delim: whether fields may be quoted.
      na_value: a text that means the default, like an empty field.
      select_cols: the numbers of the columns to read; all by default.
      exclude_cols: the numbers of the columns to leave out.
    """

    def __init__(
        self,
        filenames: TensorLike,
        record_defaults: Sequence[Any],
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        header: TensorLike = False,
        field_delim: TensorLike = ",",
        use_quote_delim: TensorLike = True,
        na_value: TensorLike = "",
        select_cols: TensorLike | None = None,
        exclude_cols: TensorLike | None = None,
    ) -> None:
        defaults = [_default_of(value) for value in record_defaults]
        spec = tuple(TensorSpec([], default.dtype) for default in defaults)
        variant = dataset_table_ops.csv_dataset_v2(
            convert_to_tensor(filenames, dtypes.string, name="filenames"),
            convert_to_tensor(compression_type or "", dtypes.string, name="compression_type"),
            convert_to_tensor(
                _BUFFER_BYTES if buffer_size is None else buffer_size,
                dtypes.int64,
                name="buffer_size",
            ),
            convert_to_tensor(header, dtypes.bool, name="header"),
            convert_to_tensor(field_delim, dtypes.string, name="field_delim"),
            convert_to_tensor(use_quote_delim, dtypes.bool, name="use_quote_delim"),
            convert_to_tensor(na_value, dtypes.string, name="na_value"),
            _vector(select_cols, "select_cols"),
            defaults,
            _vector(exclude_cols, "exclude_cols"),
            output_shapes=[TensorShape([])] * len(defaults),
        )
        super().__init__(variant, spec)


class SqlDataset(Dataset):
    """The rows of a query's result; the driver is "sqlite", the source the path of a database."""

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Sequence[Nested]
    ) -> None:
        spec = tuple(TensorSpec([], dtype) for dtype in output_types)
        variant = dataset_table_ops.sql_dataset(
            *(
                convert_to_tensor(value, dtypes.string, name=name)
                for value, name in (
                    (driver_name, "driver_name"),
                    (data_source_name, "data_source_name"),
                    (query, "query"),
                )
            ),
            **flat_attrs(spec),
        )
        super().__init__(variant, spec)


# --------------------------------------------------------------------------------- whole pipelines


def _file_names(pattern: Any, shuffle: bool) -> list[str]:
    """Return the files that match one or several patterns, sorted.

    Raises:
      ValueError: there are none.
    """
    patterns = [pattern] if isinstance(pattern, str | bytes) else list(pattern)
    found = [
        name
        for one in patterns
        for name in file_system.matching_files(one.decode() if isinstance(one, bytes) else one)
    ]
    if not found:
        raise ValueError(f"No files match `file_pattern` {pattern}.")
    return found if shuffle else sorted(found)


def _read_csv(names: Sequence[str], delimiter: str, quotes: bool, encoding: str) -> Any:
    """Return, for each file, an iterator over its rows."""
    for name in names:
        text = file_system.read_file(name).decode(encoding)
        yield csv.reader(
            io.StringIO(text, newline=""),
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        )


def _names_in_headers(files: Any) -> list[str]:
    names: list[str] | None = None
    for rows in files:
        found = next(rows, None)
        if found is None:
            raise ValueError("Received StopIteration when reading the header line of a file: empty")
        if names is None:
            names = found
        elif names != found:
            raise ValueError(
                f"All input CSV files should have the same header row: {names}, {found}"
            )
    assert names is not None
    return names


def _inferred(texts: Sequence[str], na_value: str) -> Any:
    """Return the narrowest dtype that can represent all of these texts."""
    level = 0
    kinds = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)
    for text in texts:
        if text in ("", na_value):
            continue
        while level < 4 and not _fits(text, kinds[level]):
            level += 1
    return kinds[level]


def _fits(text: str, dtype: DType) -> bool:
    try:
        if dtype.is_integer:
            return bool(dtype.min <= int(text) <= dtype.max)
        value = float(text)
    except ValueError:
        return False
    return dtype is dtypes.float64 or not np.isinf(np.float32(value)) or np.isinf(value)


def _shuffled_and_repeated(
    dataset: Dataset, num_epochs: Any, shuffle: bool, buffer_size: TensorLike, seed: TensorLike
) -> Dataset:
    if shuffle:
        dataset = dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


def make_csv_dataset(
    file_pattern: TensorLike,
    batch_size: TensorLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: TensorLike = 10000,
    shuffle_seed: TensorLike | None = None,
    prefetch_buffer_size: TensorLike | None = None,
    num_parallel_reads: TensorLike | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: TensorLike | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Return batches of rows of CSV files: a dict of columns, and the labels if requested.

    Args:
      file_pattern: files or patterns.
      batch_size: the number of rows in a batch.
      column_names: names of all columns; those in the files' headers by default.
      column_defaults: dtypes or defaults of the columns; inferred from the rows by default.
      label_name: the column that becomes the label.
      select_columns: names or numbers of the columns to read.
      field_delim: between columns.
      use_quote_delim: whether fields may be quoted.
      na_value: a text that marks a missing value, like an empty field.
      header: whether files begin with a line of names.
      num_epochs: how often to repeat; without end by default.
      shuffle: whether files and rows come in a random order.
      shuffle_buffer_size: the size of the buffer in which rows are shuffled.
      shuffle_seed: of the shuffling.
      prefetch_buffer_size: accepted.
      num_parallel_reads: how many files take turns.
      sloppy: accepted.
      num_rows_for_inference: the number of rows of each file from which dtypes are inferred; all
        if None.
      compression_type: "", "ZLIB" or "GZIP"; names and defaults must be given then.
      ignore_errors: whether rows that cannot be read are left out.
      encoding: of the files.

    Raises:
      ValueError: there are no matching files or columns, or a name is missing or repeated.
    """
    names = _file_names(file_pattern, False)
    if compression_type and (column_names is None or column_defaults is None):
        raise ValueError("column_names and column_defaults must be given for compressed files.")
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        columns = _names_in_headers(_read_csv(names, field_delim, use_quote_delim, encoding))
    else:
        columns = list(column_names)
    if len(columns) != len(set(columns)):
        raise ValueError("Cannot have duplicate column names.")
    chosen = list(range(len(columns)))
    if select_columns is not None:
        chosen = sorted(
            columns.index(one) if isinstance(one, str) else int(one) for one in select_columns
        )
        if len(set(chosen)) != len(chosen) or any(not 0 <= c < len(columns) for c in chosen):
            raise ValueError(f"select_columns must name different columns of {columns}")
    if column_defaults is None:
        column_defaults = _dtypes_of_columns(
            _read_csv(names, field_delim, use_quote_delim, encoding),
            len(columns), chosen, header, na_value, num_rows_for_inference,
        )  # fmt: skip
    elif len(column_defaults) != len(chosen):
        raise ValueError(
            f"There are {len(column_defaults)} column_defaults for {len(chosen)} columns."
        )
    labels = [columns[c] for c in chosen]
    if label_name is not None and label_name not in labels:
        raise ValueError("`label_name` provided must be one of the columns.")

    def rows_of(filename: TensorLike) -> Dataset:
        rows: Dataset = CsvDataset(
            filename, column_defaults, compression_type, None, header, field_delim,
            use_quote_delim, na_value, chosen if select_columns is not None else None,
        )  # fmt: skip
        return rows.ignore_errors() if ignore_errors else rows

    def as_dict(*values: Any) -> Nested:
        features = OrderedDict(zip(labels, values, strict=True))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    files = Dataset.from_tensor_slices(names)
    if shuffle:
        files = files.shuffle(len(names), shuffle_seed)
    dataset = files.apply(
        parallel_interleave(rows_of, cycle_length=num_parallel_reads or 1, sloppy=sloppy)
    )
    dataset = _shuffled_and_repeated(
        dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed
    )
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(as_dict)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _dtypes_of_columns(
    files: Any, count: int, chosen: Sequence[int], header: bool, na_value: str, limit: int | None
) -> list[Nested]:
    texts: list[list[str]] = [[] for _ in chosen]
    for rows in files:
        if header:
            next(rows, None)
        for number, row in enumerate(rows):
            if limit is not None and number >= limit:
                break
            if len(row) != count:
                raise ValueError(
                    f"Problem inferring types: CSV row {number + 1 + header} has {len(row)} number "
                    f"of fields. Expected: {count}."
                )
            for column, place in zip(texts, chosen, strict=True):
                column.append(row[place])
    # An empty field is 0 in a column of numbers and "" in a column of strings.
    return [
        [""] if kind is dtypes.string else convert_to_tensor([0], kind)
        for kind in (_inferred(column, na_value) for column in texts)
    ]


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: TensorLike = 1, deterministic: Any = None
) -> Callable[[Dataset], Dataset]:
    """Return batches of serialized Example messages as dicts of their features, for ``apply``.

    Raises:
      ValueError: there are no features.
      TypeError: the elements are not vectors of strings.
    """
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(
            TensorSpec([None], dtypes.string)
        ):
            raise TypeError(f"Input dataset should be a dataset of vectors of strings, not {spec}.")
        columns = columns_of_example(features)
        value_types, split_types = columns.ragged_types
        rows = spec.shape.concatenate([None])
        all_specs: list[TensorLike] = [
            SparseTensorSpec(rows, kind) for kind in columns.sparse_types
        ]
        all_specs += [
            TensorSpec(spec.shape.concatenate(shape), kind)
            for kind, shape in zip(columns.dense_types, columns.dense_shapes, strict=True)
        ]
        all_specs += [
            RaggedTensorSpec(rows, kind, 1, splits) for kind, splits in columns.ragged.values()
        ]
        specs = dict(zip(columns.keys, all_specs, strict=True))
        variant = parse_example_dataset_v2(
            dataset._variant_tensor,
            num_parallel_calls,
            columns.default_tensors(),
            sparse_keys=columns.sparse_keys,
            dense_keys=columns.dense_keys,
            sparse_types=columns.sparse_types,
            dense_shapes=columns.dense_shapes,
            deterministic=deterministic_word(deterministic),
            ragged_keys=[*columns.ragged],
            ragged_value_types=value_types,
            ragged_split_types=split_types,
            **flat_attrs(specs),
        )
        parsed = Dataset(variant, specs, [dataset])
        if any(isinstance(one, (SparseFeature, RaggedFeature)) for one in features.values()):
            return parsed.map(lambda found: put_together(features, found), num_parallel_calls)
        return parsed

    return apply


def make_batched_features_dataset(
    file_pattern: TensorLike,
    batch_size: TensorLike,
    features: Mapping[str, Any],
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: TensorLike = 10000,
    shuffle_seed: TensorLike | None = None,
    prefetch_buffer_size: TensorLike | None = None,
    reader_num_threads: Any = None,
    parser_num_threads: Any = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return batches of Example messages in files, as dicts of their features.

    Args:
      file_pattern: files or patterns.
      batch_size: the number of messages in a batch.
      features: key -> configuration of the feature.
      reader: makes a dataset of messages from a file's name; TFRecordDataset by default.
      label_key: the feature that becomes the label, beside the dict.
      reader_args: further arguments of the reader.
      num_epochs: how often to repeat; without end by default.
      shuffle: whether files and messages come in a random order.
      shuffle_buffer_size: the size of the buffer in which messages are shuffled.
      shuffle_seed: of the shuffling.
      prefetch_buffer_size: accepted.
      reader_num_threads: how many files take turns.
      parser_num_threads: accepted.
      sloppy_ordering: accepted.
      drop_final_batch: whether a smaller last batch is dropped.

    Raises:
      ValueError: there are no matching files, or the label is missing.
      TypeError: the reader returns no dataset of strings.
    """
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the features.")
    make: Callable[..., Nested] = TFRecordDataset if reader is None else reader
    files = Dataset.from_tensor_slices(_file_names(file_pattern, False))
    if shuffle:
        files = files.shuffle(len(_file_names(file_pattern, False)), shuffle_seed)
    dataset = files.apply(
        parallel_interleave(
            lambda name: make(name, *(reader_args or ())),
            cycle_length=reader_num_threads or 1,
            sloppy=sloppy_ordering,
        )
    )
    if isinstance(dataset.element_spec, tuple) and len(dataset.element_spec) == 2:
        dataset = dataset.map(lambda _, value: value)  # some readers return keys, too
    dataset = _shuffled_and_repeated(
        dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed
    )
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features))
    if label_key is not None:

        def with_label(parsed: dict[str, Any]) -> Nested:
            others = dict(parsed)
            return others, others.pop(label_key)

        dataset = dataset.map(with_label)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


# ------------------------------------------------------------------------- destinations of datasets


class TFRecordWriter:
    """A writer of a dataset of strings to a file of records."""

    def __init__(self, filename: TensorLike, compression_type: TensorLike | None = None) -> None:
        self._filename = convert_to_tensor(filename, dtypes.string, name="filename")
        self._compression = convert_to_tensor(
            compression_type or "", dtypes.string, name="compression_type"
        )

    def write(self, dataset: Dataset) -> TensorResult:
        """Return an operation that writes the elements.

        Raises:
          TypeError: the argument is no dataset, or its elements are not scalar strings.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Invalid `dataset.` Expected a `tf.data.Dataset` but got {dataset!r}.")
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(
            TensorSpec([], dtypes.string)
        ):
            raise TypeError(f"Invalid `dataset.` Elements must be scalar strings, not {spec!r}.")
        return dataset_table_ops.dataset_to_tf_record(
            dataset._variant_tensor, self._filename, self._compression
        )


class DatasetInitializer(TableInitializer):
    """An initializer that fills a table from a dataset of pairs of keys and values."""

    def __init__(self, dataset: Dataset) -> None:
        spec = dataset.element_spec
        if not isinstance(spec, tuple) or len(spec) != 2:
            raise ValueError(f"A table is made of a dataset of (key, value), not of {spec!r}.")
        self.dataset = dataset
        super().__init__(spec[0].dtype, spec[1].dtype)

    def initialize(self, table: Any) -> TensorResult:
        """Return the operation that fills a table."""
        op = dataset_table_ops.initialize_table_from_dataset(
            table.resource_handle, self.dataset._variant_tensor
        )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        return op


def table_from_dataset(
    dataset: Dataset | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: TensorLike | None = None,
    hasher_spec: Any = ("fasthash", None),
    key_dtype: DTypeLike = dtypes.string,
    name: str | None = None,
) -> Any:
    """Return a table of a dataset's pairs of keys and values.

    Args:
      dataset: of the pairs.
      num_oov_buckets: how many ids unknown keys share, after those of the known keys.
      vocab_size: the number of pairs to take; all by default.
      default_value: of unknown keys.
      hasher_spec: accepted; unknown keys are spread by the fast hash.
      key_dtype: of the keys that are looked up.
      name: of the table.

    Raises:
      ValueError: there is no dataset, or a number is out of range.
      TypeError: keys are neither strings nor integers.
    """
    if dataset is None:
        raise ValueError("`dataset` must be specified.")
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be >= 0, got {num_oov_buckets}.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be >= 1, got {vocab_size}.")
    key_dtype = dtypes.as_dtype(key_dtype)
    if not key_dtype.is_integer and key_dtype is not dtypes.string:
        raise TypeError("Only integer and string keys are supported.")
    if default_value is None:
        if num_oov_buckets == 0:
            raise ValueError("`default_value` must be given where there are no oov buckets.")
        default_value = -1
    if vocab_size is not None:
        dataset = dataset.take(vocab_size)
    initializer = DatasetInitializer(dataset)
    if num_oov_buckets:
        return StaticVocabularyTable(initializer, num_oov_buckets, key_dtype, name)
    return StaticHashTable(initializer, default_value, name=name)


def index_table_from_dataset(
    dataset: Dataset | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: TensorLike = -1,
    hasher_spec: Any = ("fasthash", None),
    key_dtype: DTypeLike = dtypes.string,
    name: str | None = None,
) -> Nested:
    """Return a table of a dataset's keys, each with its number; see :func:`table_from_dataset`."""
    if dataset is None:
        raise ValueError("`dataset` must be specified.")
    pairs = dataset.enumerate().map(lambda number, key: (key, number))
    return table_from_dataset(
        pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name
    )
