"""The lookup ops of old graphs, whose handles are references to two strings.

Their kernels are those of the second versions in lookup_ops.py, which take both kinds of handles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE, merge_dims, merge_shapes
from tfnb.ops.base.named_resources import as_reference, pair_shape
from tfnb.ops.lookup import lookup_ops as second

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.core.tensor_shape import TensorShape

_HANDLE = "table_handle: Ref(string)"
_NAMES = (
    "container: string = ''",
    "shared_name: string = ''",
    "use_node_name_sharing: bool = false",
)
_DTYPES = ("key_dtype: type", "value_dtype: type")
_ENTRIES = ("Tin: type", "Tout: type")


def _check_handle(c: InferenceContext) -> None:
    dims = c.with_rank(0, 1).dim_values
    assert dims is not None
    merge_dims(dims[0], 2)


def _after_handle(
    shapes: Callable[[InferenceContext], list[TensorShape]],
) -> Callable[[InferenceContext], list[TensorShape]]:
    """Return a shape function that checks the handle first."""

    def shape(c: InferenceContext) -> list[TensorShape]:
        _check_handle(c)
        return shapes(c)

    return shape


def _import_shape(c: InferenceContext) -> list[TensorShape]:
    return []


def _initialize_shape(c: InferenceContext) -> list[TensorShape]:
    merge_shapes(c.with_rank(1, 1), c.inputs[2])
    return []


def _text_file_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(1, 0)
    return []


_NEW: dict[str, Any] = {"stateful": True, "shape": pair_shape, "devices": ("CPU",)}
_NEW_OUT = f"-> {_HANDLE}"


@register_op("HashTable", _NEW_OUT, *_NAMES, *_DTYPES, **_NEW)
def hash_table(ctx: OpKernelContext) -> Array:
    """Return a table that is filled once."""
    return as_reference(ctx, second.static_table(ctx))


@register_op("MutableHashTable", _NEW_OUT, *_NAMES, *_DTYPES, **_NEW)
def mutable_hash_table(ctx: OpKernelContext) -> Array:
    """Return a table that may change, with scalars as values."""
    return as_reference(ctx, second.mutable_table(ctx))


@register_op(
    "MutableHashTableOfTensors", _NEW_OUT, *_NAMES, *_DTYPES, "value_shape: shape = {}", **_NEW
)
def mutable_hash_table_of_tensors(ctx: OpKernelContext, *, value_shape: TensorShape) -> Array:
    """Return a table that may change, with vectors as values."""
    return as_reference(ctx, second.table_of_tensors(ctx, value_shape))


@register_op(
    "MutableDenseHashTable", f"empty_key: key_dtype -> {_HANDLE}", *_NAMES, *_DTYPES,
    "value_shape: shape = {}", "initial_num_buckets: int = 131072",
    "max_load_factor: float = 0.800000012", **_NEW,
)  # fmt: skip
def mutable_dense_hash_table(
    ctx: OpKernelContext,
    empty_key: Array,
    *,
    value_shape: TensorShape,
    initial_num_buckets: int,
    max_load_factor: float,
) -> Array:
    """Return a table that may change and reserves one key."""
    return as_reference(
        ctx,
        second.dense_table(ctx, value_shape, empty_key, None, initial_num_buckets, max_load_factor),
    )


# ---------------------------------------------------------------------------- asking and changing


def _same(
    name: str,
    signature: str,
    of: OpDefinition,
    shapes: Callable[[InferenceContext], list[TensorShape]],
    *attrs: str,
    **options: Any,
) -> OpDefinition:
    """Return the first version of an op, with the kernel of the second."""
    register = register_op(
        name, signature, *attrs, shape=_after_handle(shapes), devices=("CPU",), **options
    )
    return register(of.kernels["CPU"])


lookup_table_find = _same(
    "LookupTableFind",
    f"{_HANDLE}, keys: Tin, default_value: Tout -> values: Tout",
    second.lookup_table_find_v2,
    lambda c: [UNKNOWN_SHAPE],
    *_ENTRIES,
)
lookup_table_insert = _same(
    "LookupTableInsert",
    f"{_HANDLE}, keys: Tin, values: Tout ->",
    second.lookup_table_insert_v2,
    _import_shape,
    *_ENTRIES,
)
lookup_table_import = _same(
    "LookupTableImport",
    f"{_HANDLE}, keys: Tin, values: Tout ->",
    second.lookup_table_import_v2,
    _import_shape,
    *_ENTRIES,
)
lookup_table_size = _same(
    "LookupTableSize",
    f"{_HANDLE} -> size: int64",
    second.lookup_table_size_v2,
    lambda c: [SCALAR_SHAPE],
)
lookup_table_export = _same(
    "LookupTableExport",
    f"{_HANDLE} -> keys: Tkeys, values: Tvalues",
    second.lookup_table_export_v2,
    lambda c: [UNKNOWN_SHAPE, UNKNOWN_SHAPE],
    "Tkeys: type",
    "Tvalues: type",
)
initialize_table = _same(
    "InitializeTable",
    f"{_HANDLE}, keys: Tkey, values: Tval ->",
    second.initialize_table_v2,
    _initialize_shape,
    "Tkey: type",
    "Tval: type",
)
initialize_table_from_text_file = _same(
    "InitializeTableFromTextFile",
    f"{_HANDLE}, filename: string ->",
    second.initialize_table_from_text_file_v2,
    _text_file_shape,
    "key_index: int >= -2",
    "value_index: int >= -2",
    "vocab_size: int >= -1 = -1",
    "delimiter: string = '\\t'",
    "offset: int = 0",
    effects="read filename",
)

for _op in (
    hash_table, mutable_hash_table, mutable_hash_table_of_tensors, mutable_dense_hash_table,
    lookup_table_find, lookup_table_insert, lookup_table_import, lookup_table_size,
    lookup_table_export, initialize_table, initialize_table_from_text_file,
):  # fmt: skip
    _op.not_differentiable()
