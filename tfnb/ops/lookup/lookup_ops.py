"""The lookup ops: they create, fill, read and change tables; see lookup_tables.py."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.core.node_text import shape_text
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
    require_rank,
    require_rank_at_least,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.named_resources import find_resource, own_resource
from tfnb.ops.lookup.lookup_tables import (
    HashTable,
    LookupTable,
    MutableDenseHashTable,
    MutableHashTable,
    entries_of_text,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Outputs
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.resource_mgr import ResourceHandle

_TYPE = "LookupTable"
_numbers = itertools.count()


# -- shape functions


def _table_shape(c: InferenceContext) -> TensorShape:
    value_shape = c.attrs.get("value_shape", SCALAR_SHAPE)
    # The empty key of a dense table has the shape of keys.
    key_shape = c.inputs[0] if c.inputs else SCALAR_SHAPE
    data = [(c.attr("key_dtype"), key_shape), (c.attr("value_dtype"), value_shape)]
    c.set_output_handle_data(0, data)
    return SCALAR_SHAPE


def _static_table_shape(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


def _entry_shapes(
    c: InferenceContext, key_attr: str, value_attr: str
) -> tuple[TensorShape, TensorShape] | None:
    """Return the static shapes of one key and one value from the handle, or None."""
    c.with_rank(0, 0)
    data = c.input_handle_data(0)
    if not data or len(data) != 2:
        return None
    for (dtype, _), attr in zip(data, (key_attr, value_attr)):
        if dtype is not c.attr(attr):
            raise ValueError(
                f"Trying to read value with wrong dtype. Expected {dtype.name} got "
                f"{c.attr(attr).name}"
            )
    return data[0][1], data[1][1]


def _find_shape(c: InferenceContext) -> TensorShape:
    entry, keys = _entry_shapes(c, "Tin", "Tout"), c.inputs[1]
    if entry is None or keys.ndims is None or entry[0].ndims is None:
        return UNKNOWN_SHAPE
    require_rank_at_least(keys, entry[0].ndims)
    return keys[: keys.ndims - entry[0].ndims].concatenate(entry[1])


def _export_shape(c: InferenceContext) -> list[TensorShape]:
    _entry_shapes(c, "Tkeys", "Tvalues")
    return [UNKNOWN_SHAPE, UNKNOWN_SHAPE]


def _size_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    return SCALAR_SHAPE


def _insert_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    return []


def _remove_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    c.with_rank_at_least(1, 1)
    return []


def _import_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    keys = c.with_rank(1, 1)
    if c.inputs[2].dim_values is not None:
        merge_shapes(keys, c.inputs[2][:1])
    return []


def _initialize_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    merge_shapes(c.with_rank(1, 1), c.inputs[2])
    return []


def _text_file_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    require_rank(c.inputs[1], 0)
    return []


# -- tables

# The pairs of key and value dtypes for which TensorFlow has a kernel.
_STATIC = {
    "int32": "float64 float32 int32 string",
    "int64": "float64 float32 int32 int64 string",
    "string": "bool float64 float32 int32 int64 string",
}
_MUTABLE = {
    "int32": "float64 float32 int32",
    "int64": "float64 float32 int32 int64 string variant",
    "string": "bool float64 float32 int32 int64",
}
_OF_TENSORS = {
    "int32": "float64 float32 int32",
    "int64": "float64 float32 int32 int64 string",
    "string": "bool float64 float32 int32 int64",
}

# TensorFlow has no dense tables from numbers to strings.
_DENSE = _OF_TENSORS | {"int64": "bool float64 float32 int32 int64 string"}


def _checked_dtypes(ctx: OpKernelContext, supported: dict[str, str]) -> tuple[DType, DType]:
    key_dtype, value_dtype = ctx.attrs["key_dtype"], ctx.attrs["value_dtype"]
    if value_dtype.name not in supported.get(key_dtype.name, "").split():
        raise errors.invalid_argument(
            f"No OpKernel was registered to support Op '{ctx.op_type}' with keys of "
            f"{key_dtype.name} and values of {value_dtype.name}."
        )
    return key_dtype, value_dtype


def _sizes(value_shape: TensorShape | None) -> tuple[int, ...]:
    return tuple(int(size or 0) for size in (value_shape.as_list() if value_shape else ()))


def _anonymous(
    ctx: OpKernelContext,
    kind: type[LookupTable],
    supported: dict[str, str],
    value_shape: TensorShape | None = None,
) -> ResourceHandle:
    """Return a new table in every execution; only its handle leads to it."""
    name = f"AnonymousTable{next(_numbers)}"
    table = kind(name, *_checked_dtypes(ctx, supported), _sizes(value_shape))
    ctx.resource_manager.create("", _TYPE, name, table)
    found: ResourceHandle = ctx.resource_manager.make_handle(name, _TYPE)
    return found


def _table(
    ctx: OpKernelContext,
    kind: type[LookupTable],
    supported: dict[str, str],
    value_shape: TensorShape | None = None,
) -> ResourceHandle:
    attrs = ctx.attrs
    key_dtype, value_dtype = _checked_dtypes(ctx, supported)
    container, shared_name = _name(attrs["container"]), _name(attrs["shared_name"])
    if not shared_name and attrs["use_node_name_sharing"]:
        shared_name = ctx.node_name
    shape = _sizes(value_shape)
    return own_resource(
        ctx,
        _TYPE,
        container,
        shared_name,
        lambda name: kind(name, key_dtype, value_dtype, shape),
        lambda table: _check_same(table, kind, key_dtype, value_dtype),
    )


def static_table(ctx: OpKernelContext) -> ResourceHandle:
    """Return the node's table, which is filled once."""
    return _table(ctx, HashTable, _STATIC)


def mutable_table(ctx: OpKernelContext) -> ResourceHandle:
    """Return the node's table, which may change; values are scalars."""
    return _table(ctx, MutableHashTable, _MUTABLE)


def table_of_tensors(ctx: OpKernelContext, value_shape: TensorShape) -> ResourceHandle:
    """Return the node's table, which may change; values are vectors.

    Raises:
      InvalidArgumentError: the shape of a value is not that of a vector.
    """
    _check_vector(value_shape)
    return _table(ctx, MutableHashTable, _OF_TENSORS, value_shape)


def _check_vector(value_shape: TensorShape) -> None:
    if value_shape.rank != 1 or not value_shape.is_fully_defined():
        raise errors.invalid_argument(f"Default value must be a vector, got shape {value_shape}")


def _name(attr: Array) -> str:
    return attr.decode() if isinstance(attr, bytes) else str(attr)


def _check_same(
    table: LookupTable, kind: type[LookupTable], key_dtype: DType, value_dtype: DType
) -> None:
    """Refuse a table of another kind or with other dtypes."""
    if (table.key_dtype, table.value_dtype) != (key_dtype, value_dtype):
        raise errors.invalid_argument(
            f"Conflicting key/value dtypes {key_dtype.name}->{value_dtype.name} with "
            f"{table.key_dtype.name}-{table.value_dtype.name} for table {table.name}"
        )
    if not isinstance(table, kind):
        raise errors.invalid_argument(
            f"Table {table.name} is a {type(table).__name__} but a {kind.__name__} was requested."
        )


_NAMES = (
    "container: string = ''",
    "shared_name: string = ''",
    "use_node_name_sharing: bool = false",
)
_DTYPES = ("key_dtype: type", "value_dtype: type")


@register_op(
    "HashTableV2", "-> table_handle: resource", *_NAMES, *_DTYPES, stateful=True,
    shape=_static_table_shape, devices=("CPU",),
)  # fmt: skip
def hash_table_v2(ctx: OpKernelContext) -> Handle:
    """Return a table that is filled once."""
    return static_table(ctx)


@register_op(
    "MutableHashTableV2", "-> table_handle: resource", *_NAMES, *_DTYPES, stateful=True,
    shape=_table_shape, devices=("CPU",),
)  # fmt: skip
def mutable_hash_table_v2(ctx: OpKernelContext) -> Handle:
    """Return a table that may change, with scalars as values."""
    return mutable_table(ctx)


@register_op(
    "MutableHashTableOfTensorsV2", "-> table_handle: resource", *_NAMES, *_DTYPES,
    "value_shape: shape = {}", stateful=True, shape=_table_shape, devices=("CPU",),
)  # fmt: skip
def mutable_hash_table_of_tensors_v2(ctx: OpKernelContext, *, value_shape: TensorShape) -> Handle:
    """Return a table that may change, with vectors as values."""
    return table_of_tensors(ctx, value_shape)


@register_op(
    "MutableDenseHashTableV2", "empty_key: key_dtype, deleted_key: key_dtype -> "
    "table_handle: resource", *_NAMES, *_DTYPES, "value_shape: shape = {}",
    "initial_num_buckets: int = 131072", "max_load_factor: float = 0.800000012", stateful=True,
    shape=_table_shape, devices=("CPU",),
)  # fmt: skip
def mutable_dense_hash_table_v2(
    ctx: OpKernelContext,
    empty_key: Array,
    deleted_key: Array,
    *,
    value_shape: TensorShape,
    initial_num_buckets: int,
    max_load_factor: float,
) -> Handle:
    """Return a table that may change and reserves two keys."""
    buckets = initial_num_buckets
    return dense_table(ctx, value_shape, empty_key, deleted_key, buckets, max_load_factor)


def dense_table(
    ctx: OpKernelContext,
    value_shape: TensorShape,
    empty_key: Array,
    deleted_key: Array,
    buckets: int,
    max_load_factor: float,
) -> Array:
    """Return the handle of a dense table; it may reserve only the empty key, not a deleted one."""
    _check_dense(empty_key, deleted_key, buckets, max_load_factor)
    handle = _table(ctx, MutableDenseHashTable, _DENSE, value_shape)
    table = ctx.resource_manager.lookup(handle)
    table.reserve(empty_key, deleted_key, buckets, max_load_factor)
    return handle


def _check_dense(
    empty_key: Array, deleted_key: Array, initial_num_buckets: int, max_load_factor: float
) -> None:
    """Refuse invalid arguments of a dense table."""
    if initial_num_buckets < 4 or initial_num_buckets & (initial_num_buckets - 1):
        raise errors.invalid_argument(
            f"Number of buckets must be at least 4 and a power of 2, got: {initial_num_buckets}"
        )
    if not 0 < max_load_factor < 1:
        raise errors.invalid_argument(
            f"max_load_factor must be between 0 and 1, got: {max_load_factor}"
        )
    if deleted_key is None:
        return
    shapes = np.shape(empty_key), np.shape(deleted_key)
    if shapes[0] != shapes[1]:
        raise errors.invalid_argument(
            "Empty and deleted keys must have same shape, got shapes: "
            f"{shape_text(TensorShape(shapes[0]))} and {shape_text(TensorShape(shapes[1]))}"
        )
    if np.array_equal(empty_key, deleted_key):
        raise errors.invalid_argument("Empty and deleted keys cannot be equal")


_ANONYMOUS: dict[str, Any] = {"stateful": True, "devices": ("CPU",)}
_HANDLE_OUT = "-> table_handle: resource"


@register_op("AnonymousHashTable", _HANDLE_OUT, *_DTYPES, shape=_static_table_shape, **_ANONYMOUS)
def anonymous_hash_table(ctx: OpKernelContext) -> Handle:
    """Return, in every execution, a new table that is filled once."""
    return _anonymous(ctx, HashTable, _STATIC)


@register_op("AnonymousMutableHashTable", _HANDLE_OUT, *_DTYPES, shape=_table_shape, **_ANONYMOUS)
def anonymous_mutable_hash_table(ctx: OpKernelContext) -> Handle:
    """Return, in every execution, a new table that may change."""
    return _anonymous(ctx, MutableHashTable, _MUTABLE)


@register_op(
    "AnonymousMutableHashTableOfTensors", _HANDLE_OUT, *_DTYPES, "value_shape: shape = {}",
    shape=_table_shape, **_ANONYMOUS,
)  # fmt: skip
def anonymous_mutable_hash_table_of_tensors(
    ctx: OpKernelContext, *, value_shape: TensorShape
) -> Handle:
    """Return, in every execution, a new table that may change; values are vectors."""
    _check_vector(value_shape)
    return _anonymous(ctx, MutableHashTable, _OF_TENSORS, value_shape)


@register_op(
    "AnonymousMutableDenseHashTable", "empty_key: key_dtype, deleted_key: key_dtype -> "
    "table_handle: resource", *_DTYPES, "value_shape: shape = {}",
    "initial_num_buckets: int = 131072", "max_load_factor: float = 0.800000012",
    shape=_table_shape, **_ANONYMOUS,
)  # fmt: skip
def anonymous_mutable_dense_hash_table(
    ctx: OpKernelContext,
    empty_key: Array,
    deleted_key: Array,
    *,
    value_shape: TensorShape,
    initial_num_buckets: int,
    max_load_factor: float,
) -> Handle:
    """Return, in every execution, a new table that may change and reserves two keys."""
    _check_dense(empty_key, deleted_key, initial_num_buckets, max_load_factor)
    handle = _anonymous(ctx, MutableDenseHashTable, _DENSE, value_shape)
    table = ctx.resource_manager.lookup(handle)
    table.reserve(empty_key, deleted_key, initial_num_buckets, max_load_factor)
    return handle


# -- filling, asking, changing


def _lookup(ctx: OpKernelContext, handle: Handle, *attrs: str) -> LookupTable:
    """Return the table behind a handle; its dtypes must be those of the named attributes."""
    table: LookupTable = find_resource(ctx, handle, _TYPE, LookupTable)
    found = tuple(ctx.attrs[attr].name for attr in attrs)
    wanted = (table.key_dtype.name, table.value_dtype.name)[: len(attrs)]
    if found != wanted:
        raise errors.invalid_argument(
            f"Signature mismatch, have: resource, {', '.join(found)} expected: resource, "
            f"{', '.join(wanted)}"
        )
    return table


def initializable_table(ctx: OpKernelContext, handle: Handle, *attrs: str) -> HashTable:
    """Return the table behind a handle; it must be of the kind that is filled once."""
    table: LookupTable = find_resource(ctx, handle, _TYPE, LookupTable)
    if not isinstance(table, HashTable):
        raise errors.invalid_argument(f"Table {table.name} is not initializable")
    _lookup(ctx, handle, *attrs)
    return table


@register_op(
    "InitializeTableV2", "table_handle: resource, keys: Tkey, values: Tval ->", "Tkey: type",
    "Tval: type", stateful=True, shape=_initialize_shape, devices=("CPU",),
)  # fmt: skip
def initialize_table_v2(
    ctx: OpKernelContext, table_handle: Array, keys: Array, values: Array
) -> None:
    """Fill a table from tensors."""
    initializable_table(ctx, table_handle, "Tkey", "Tval").initialize(keys, values)


@register_op(
    "InitializeTableFromTextFileV2", "table_handle: resource, filename: string ->",
    "key_index: int >= -2", "value_index: int >= -2", "vocab_size: int >= -1 = -1",
    "delimiter: string = '\\t'", "offset: int = 0", stateful=True, shape=_text_file_shape,
    devices=("CPU",), effects="read filename",
)  # fmt: skip
def initialize_table_from_text_file_v2(
    ctx: OpKernelContext,
    table_handle: Array,
    filename: Array,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str,
    offset: int,
) -> None:
    """Fill a table from the lines of a file; a filled table does not change."""
    if len(delimiter) != 1:
        raise errors.invalid_argument("delimiter should be only 1 char")
    table = initializable_table(ctx, table_handle)
    path = np.asarray(filename, dtype=object)
    if path.size != 1:
        raise errors.invalid_argument(
            f"filename should be a single string, but got {list(path.shape)}"
        )
    name = bytes(path.reshape(-1)[0]).decode("utf-8", "surrogateescape")
    if not name:
        raise errors.invalid_argument("filename cannot be empty.")
    contents = file_system.read_file(name)
    if table.is_initialized:
        return
    entries = entries_of_text(
        table,
        name,
        contents,
        key_index=key_index,
        value_index=value_index,
        vocab_size=vocab_size,
        delimiter=delimiter,
        offset=offset,
    )
    table.fill(entries, len(entries))


@register_op(
    "LookupTableFindV2",
    "table_handle: resource, keys: Tin, default_value: Tout -> values: Tout", "Tin: type",
    "Tout: type", stateful=True, shape=_find_shape, devices=("CPU",),
)  # fmt: skip
def lookup_table_find_v2(
    ctx: OpKernelContext, table_handle: Array, keys: Array, default_value: Array
) -> Array:
    """Return the value of each key, or the default."""
    return _lookup(ctx, table_handle, "Tin", "Tout").find(keys, default_value)


@register_op(
    "LookupTableInsertV2", "table_handle: resource, keys: Tin, values: Tout ->", "Tin: type",
    "Tout: type", stateful=True, shape=_insert_shape, devices=("CPU",),
)  # fmt: skip
def lookup_table_insert_v2(
    ctx: OpKernelContext, table_handle: Array, keys: Array, values: Array
) -> None:
    """Add or replace entries."""
    _lookup(ctx, table_handle, "Tin", "Tout").insert(keys, values)


@register_op(
    "LookupTableRemoveV2", "table_handle: resource, keys: Tin ->", "Tin: type", stateful=True,
    shape=_remove_shape, devices=("CPU",),
)  # fmt: skip
def lookup_table_remove_v2(ctx: OpKernelContext, table_handle: Handle, keys: Array) -> None:
    """Remove keys."""
    _lookup(ctx, table_handle, "Tin").remove(keys)


@register_op(
    "LookupTableSizeV2", "table_handle: resource -> size: int64", stateful=True,
    shape=_size_shape, devices=("CPU",),
)  # fmt: skip
def lookup_table_size_v2(ctx: OpKernelContext, table_handle: Array) -> Array:
    """Return the number of keys."""
    return np.int64(_lookup(ctx, table_handle).size())


@register_op(
    "LookupTableExportV2", "table_handle: resource -> keys: Tkeys, values: Tvalues",
    "Tkeys: type", "Tvalues: type", stateful=True, shape=_export_shape, devices=("CPU",),
)  # fmt: skip
def lookup_table_export_v2(ctx: OpKernelContext, table_handle: Array) -> Outputs:
    """Return all keys and values."""
    return _lookup(ctx, table_handle, "Tkeys", "Tvalues").export()


@register_op(
    "LookupTableImportV2", "table_handle: resource, keys: Tin, values: Tout ->", "Tin: type",
    "Tout: type", stateful=True, shape=_import_shape, devices=("CPU",),
)  # fmt: skip
def lookup_table_import_v2(
    ctx: OpKernelContext, table_handle: Array, keys: Array, values: Array
) -> None:
    """Replace all entries."""
    _lookup(ctx, table_handle, "Tin", "Tout").import_values(keys, values)


for _op in (
    hash_table_v2, mutable_hash_table_v2, mutable_hash_table_of_tensors_v2, initialize_table_v2,
    initialize_table_from_text_file_v2, lookup_table_find_v2, lookup_table_insert_v2,
    lookup_table_remove_v2, lookup_table_size_v2, lookup_table_export_v2, lookup_table_import_v2,
    mutable_dense_hash_table_v2, anonymous_hash_table, anonymous_mutable_hash_table,
    anonymous_mutable_hash_table_of_tensors, anonymous_mutable_dense_hash_table,
):  # fmt: skip
    _op.not_differentiable()
