"""Datasets of rows of CSV files and databases, and ops that write datasets to files and tables."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, effects, errors
from tfnb.core.files import file_system
from tfnb.core.files.tf_record import RecordWriter
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.dataset.csv_records import records_of
from tfnb.ops.dataset.dataset_file_ops import compression_of, contents_of, names_of
from tfnb.ops.dataset.dataset_iterators import (
    DatasetBase,
    Element,
    ImmediateIterator,
    IteratorScope,
    as_dataset,
    go_on_or_end,
    scalar_int,
    scalar_of,
    stack,
    tensor_of,
)
from tfnb.ops.dataset.dataset_source_ops import OUTPUTS, handle_of_scalars
from tfnb.ops.io.parsing_ops import csv_value
from tfnb.ops.lookup.lookup_ops import initializable_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Outputs, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.ops.dataset.csv_records import type_of_field

# ---------------------------------------------------------------------------------------------- CSV


class _CsvIterator(ImmediateIterator):
    def __init__(
        self,
        names: Sequence[bytes],
        compression: str,
        header: bool,
        delimiter: bytes,
        use_quotes: bool,
        selected: frozenset[int],
        excluded: frozenset[int],
        missing: frozenset[bytes],
        defaults: Sequence[Array],
        types: Sequence[DType],
        guard: effects.Guard | None,
    ) -> None:
        self._names, self._compression, self._header = list(names), compression, header
        self._delimiter, self._use_quotes = delimiter, use_quotes
        self._selected, self._excluded = selected, excluded
        self._missing, self._defaults, self._types = missing, defaults, types
        self._guard = guard
        self._records: Iterator[list[type_of_field]] | None = None

    def take(self, ctx: OpKernelContext) -> Element | None:
        while True:
            if self._records is None:
                if not self._names:
                    return None
                name = self._names.pop(0).decode("utf-8", "surrogateescape")
                with effects.watched_by(self._guard):
                    contents = contents_of(name, self._compression)
                self._records = records_of(contents, self._delimiter, self._use_quotes)
                if self._header:
                    header = next(self._records, None)
                    if header is None or any(isinstance(one, errors.OpError) for one in header):
                        raise errors.invalid_argument("Can't read header of file")
            record = next(self._records, None)
            if record is not None:
                return self._element(record)
            self._records = None
            go_on_or_end(ctx)

    def _element(self, record: list[type_of_field]) -> Element:
        values: list[Any] = []
        num_wanted = len(self._types)
        for column, field in enumerate(record):
            if isinstance(field, errors.OpError):
                raise field
            if (self._selected and column not in self._selected) or column in self._excluded:
                continue
            if len(values) == num_wanted:
                raise errors.invalid_argument(f"Expect {num_wanted} fields but have more in record")
            values.append(self._value(field, len(values)))
        if len(values) < num_wanted:
            raise errors.invalid_argument(
                f"Expect {num_wanted} fields but have {len(values)} in record"
            )
        return tuple(values)

    def _value(self, field: bytes, position: int) -> Array:
        """Return the value of an output; a missing field has the default."""
        value: Any = field
        dtype = self._types[position]
        if field not in self._missing:
            if dtype is not dtypes.string:
                value = csv_value(field, dtype, position)
        else:
            default = self._defaults[position]
            if not default.size:
                raise errors.invalid_argument(
                    f"Field {position} is required but missing in record!"
                )
            value = default.reshape(-1)[0]
        if dtype is dtypes.string:
            return tensor_of(value)
        return np.asarray(value).astype(dtype.as_numpy_dtype)[()]


_CSV = (
    "filenames: string, compression_type: string, buffer_size: int64, header: bool, field_delim: "
    "string, use_quote_delim: bool, na_value: string, select_cols: int64, record_defaults: "
    "output_types"
)


def _text(value: Array) -> bytes:
    found: bytes = np.asarray(value).item()
    return found


def _csv_dataset(
    xp: Xp,
    filenames: Array,
    compression_type: Array,
    buffer_size: Array,
    header: Array,
    field_delim: Array,
    use_quote_delim: Array,
    na_value: Array,
    select_cols: Array,
    record_defaults: list[Array],
    exclude_cols: Array = (),
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the rows of CSV files, a component for each column.

    Raises:
      InvalidArgumentError: an argument is invalid, or a row does not match the declaration.
    """
    names, compression = names_of(filenames), compression_of(compression_type)
    if scalar_int(buffer_size, "buffer_size") <= 0:
        raise errors.invalid_argument("buffer_size should be positive")
    words = {"header": header, "field_delim": field_delim, "use_quote_delim": use_quote_delim}
    for what, value in (words | {"na_value": na_value}).items():
        scalar_of(value, what)
    delimiter = _text(field_delim)
    if len(delimiter) != 1:
        raise errors.invalid_argument("field_delim should be only 1 char")
    for what, value in (("select_cols", select_cols), ("exclude_cols", exclude_cols)):
        if np.ndim(value) != 1:
            raise errors.invalid_argument(f"`{what}` must be a vector.")
    columns = np.asarray(select_cols).reshape(-1).tolist()
    excluded = np.asarray(exclude_cols).reshape(-1).tolist()
    for what, chosen in (("select_cols", columns), ("exclude_cols", excluded)):
        if any(column < 0 for column in chosen):
            raise errors.invalid_argument(f"{what} should be non-negative indices")
        if any(one >= other for one, other in itertools.pairwise(chosen)):
            raise errors.invalid_argument(f"{what} should be strictly increasing indices")
    if columns and excluded:
        raise errors.invalid_argument("Either select_cols or exclude_cols should be empty")
    if columns and len(columns) != len(output_types):
        raise errors.invalid_argument("select_cols should match output size")
    for default in record_defaults:
        if default.ndim > 1 or default.size > 1:
            raise errors.invalid_argument("Each record default should be a scalar or empty")
    quotes = bool(use_quote_delim)
    missing = frozenset((b"", _text(na_value)))
    chosen_columns = frozenset(columns), frozenset(excluded)
    arguments = (bool(header), delimiter, quotes, *chosen_columns, missing)
    guard = effects.current_guard()
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _CsvIterator(
            names, compression, *arguments, record_defaults, output_types, guard
        ),
    )


_CSV_ATTRS = (
    "output_types: list({float, double, int32, int64, string}) >= 1",
    "output_shapes: list(shape) >= 1",
)
_FILE: dict[str, Any] = {"stateful": True, "devices": ("CPU",)}
csv_dataset_v2: OpDefinition = register_op(
    "CSVDatasetV2", f"{_CSV}, exclude_cols: int64 -> handle: variant", *_CSV_ATTRS,
    shape=handle_of_scalars, effects="read filenames", **_FILE,
)(_csv_dataset)  # fmt: skip
csv_dataset = register_op(
    "CSVDataset", f"{_CSV} -> handle: variant", *_CSV_ATTRS,
    shape=handle_of_scalars, effects="read filenames", **_FILE,
)(_csv_dataset)  # fmt: skip
experimental_csv_dataset = register_op(
    "ExperimentalCSVDataset", f"{_CSV} -> handle: variant", *_CSV_ATTRS,
    shape=handle_of_scalars, effects="read filenames", **_FILE,
)(_csv_dataset)  # fmt: skip


# ---------------------------------------------------------------------------------------- databases


class _SqlIterator(ImmediateIterator):
    def __init__(
        self, source: str, query: str, types: Sequence[DType], guard: effects.Guard | None
    ) -> None:
        self._source, self._query, self._types, self._guard = source, query, types, guard
        self._rows: Array = None
        self._step: Array = None  # the step that reads a row now

    def take(self, ctx: OpKernelContext) -> Element | None:
        import sqlite3  # Python in a browser may lack it

        from tfnb.core.files.database_file import end_queries_when

        self._step = ctx.step.run_state
        try:
            if self._rows is None:
                with effects.watched_by(self._guard):
                    connection = file_system.database(self._source)
                connection.text_factory = bytes
                self._close = weakref.finalize(self, connection.close)
                me = weakref.ref(self)
                end_queries_when(connection, lambda: _must_end(me()))
                self._rows = connection.execute(self._query)
            row = next(self._rows, None)
        except sqlite3.Error as error:
            go_on_or_end(ctx)
            raise errors.unknown(f"The query of {self._source!r} failed: {error}") from error
        finally:
            self._step = None
        if row is None:
            self._close()
            return None
        if len(row) != len(self._types):
            raise errors.invalid_argument(
                f"The number of columns in query ({len(row)}) must match the number of elements in "
                f"output_types ({len(self._types)})."
            )
        return tuple([_sql_value(v, t) for v, t in zip(row, self._types, strict=True)])


def _must_end(iterator: _SqlIterator | None) -> bool:
    """Return whether the step that waits for a row is to end."""
    step = None if iterator is None else iterator._step
    return step is not None and step.must_end()


def _sql_value(value: Array, dtype: DType) -> Array:
    if dtype is dtypes.string:
        if isinstance(value, bytes):
            return tensor_of(value)
        return tensor_of(b"" if value is None else str(value).encode())
    if isinstance(value, bytes | None):
        value = 0
    if dtype is dtypes.bool:
        value = value != 0
    return np.asarray(value).astype(dtype.as_numpy_dtype)[()]


def _sql_dataset(
    xp: Xp,
    driver_name: Array,
    data_source_name: Array,
    query: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the rows of a query's result in a SQLite database.

    Raises:
      InvalidArgumentError: the driver is not SQLite, or the query fails.
    """
    if _text(driver_name) != b"sqlite":
        raise errors.invalid_argument(
            "tensorflow::data::SqlDatasetOp: the database type, "
            f"{_text(driver_name).decode(errors='replace')}, is not supported by SqlDataset. The "
            "set of supported databases is: {'sqlite'}."
        )
    source = _text(data_source_name).decode("utf-8", "surrogateescape")
    text, guard = _text(query).decode("utf-8", "replace"), effects.current_guard()
    return DatasetBase(
        output_types, output_shapes, lambda scope: _SqlIterator(source, text, output_types, guard)
    )


_SQL = "driver_name: string, data_source_name: string, query: string -> handle: variant"
sql_dataset = register_op(
    "SqlDataset", _SQL, *OUTPUTS, shape=handle_of_scalars, effects="read data_source_name", **_FILE
)(_sql_dataset)
experimental_sql_dataset = register_op(
    "ExperimentalSqlDataset", _SQL, *OUTPUTS, shape=handle_of_scalars,
    effects="read data_source_name", **_FILE,
)(_sql_dataset)  # fmt: skip


# ---------------------------------------------------------------------------------------- matching


def _matching_files(xp: Xp, patterns: Array) -> Variant:
    """Return the names of the files that match the patterns, sorted."""
    wanted = [
        bytes(pattern).decode("utf-8", "surrogateescape")
        for pattern in np.asarray(patterns).reshape(-1)
    ]
    guard = effects.current_guard()

    def make(scope: IteratorScope) -> ImmediateIterator:
        with effects.watched_by(guard):
            found = sorted({name for one in wanted for name in file_system.matching_files(one)})
        return _NamesIterator([name.encode("utf-8", "surrogateescape") for name in found])

    return DatasetBase((dtypes.string,), (TensorShape(()),), make)


class _NamesIterator(ImmediateIterator):
    def __init__(self, names: list[bytes]) -> None:
        self._names = names[::-1]

    def take(self, ctx: OpKernelContext) -> Element | None:
        return (tensor_of(self._names.pop()),) if self._names else None


for _name in ("MatchingFilesDataset", "ExperimentalMatchingFilesDataset"):
    register_op(
        _name, "patterns: string -> handle: variant", shape=handle_of_scalars,
        effects="read patterns", **_FILE,
    )(_matching_files)  # fmt: skip


# ------------------------------------------------------------------------------ where datasets end


def _to_record_file(
    ctx: OpKernelContext, input_dataset: Variant, filename: Array, compression_type: Array
) -> Outputs:
    """Write the elements, which are strings, as the records of a file."""
    source = as_dataset(input_dataset)
    if len(source.types) != 1 or source.types[0] is not dtypes.string:
        raise errors.invalid_argument(
            "DatasetToTFRecordOp only supports datasets of one string component."
        )
    path = _text(filename).decode("utf-8", "surrogateescape")
    writer = RecordWriter(path, compression_of(compression_type))
    try:
        iterator = source.make(IteratorScope(is_lasting=False))
        while (element := (yield from iterator.get_next(ctx))) is not None:
            writer.write(_text(element[0]))
            go_on_or_end(ctx)
    finally:
        writer.close()
    return ()


_RECORDS = "input_dataset: variant, filename: string, compression_type: string ->"
dataset_to_tf_record = register_op(
    "DatasetToTFRecord", _RECORDS, shape=lambda c: [], effects="write filename", **_FILE
)(_to_record_file)
experimental_dataset_to_tf_record = register_op(
    "ExperimentalDatasetToTFRecord", _RECORDS, shape=lambda c: [], effects="write filename", **_FILE
)(_to_record_file)


@register_op(
    "InitializeTableFromDataset", "table_handle: resource, dataset: variant ->",
    stateful=True, shape=lambda c: [c.with_rank(0, 0), c.with_rank(1, 0)][:0], devices=("CPU",),
)  # fmt: skip
def initialize_table_from_dataset(
    ctx: OpKernelContext, table_handle: Handle, dataset: Variant
) -> Outputs:
    """Fill a table with a dataset's pairs of keys and values; a filled table does not change.

    Raises:
      InvalidArgumentError: the elements are not pairs of keys and values.
    """
    table, source = initializable_table(ctx, table_handle), as_dataset(dataset)
    if len(source.types) != 2:
        raise errors.invalid_argument("Dataset should have two output types only")
    if (source.types[0], source.types[1]) != (table.key_dtype, table.value_dtype):
        raise errors.invalid_argument(
            f"Key and value types expected: {table.key_dtype.name}, {table.value_dtype.name} but "
            f"obtained: {source.types[0].name}, {source.types[1].name} from the dataset"
        )
    elements = []
    iterator = source.make(IteratorScope(is_lasting=False))
    while (element := (yield from iterator.get_next(ctx))) is not None:
        elements.append(element)
        go_on_or_end(ctx)
    if elements:
        table.initialize(*(stack(values) for values in zip(*elements, strict=True)))
    else:
        table.initialize(*(np.zeros(0, dtype.as_numpy_dtype) for dtype in source.types))
    return ()
