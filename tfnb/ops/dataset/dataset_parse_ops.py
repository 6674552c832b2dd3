"""Datasets of Example messages as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import owned
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.dataset.dataset_iterators import DatasetBase, EachIterator, as_dataset, bracketed
from tfnb.ops.dataset.dataset_sequence_ops import check_parallel_calls
from tfnb.ops.dataset.dataset_source_ops import OUTPUTS, scalar_handle
from tfnb.ops.io.example_ops import parse_example_v2_op
from tfnb.ops.io.example_parsing import make_dense
from tfnb.ops.sparse.ragged_variant_ops import RaggedTensorVariant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Variant, Xp
    from tfnb.ops.dataset.dataset_iterators import DatasetIterator, Element, type_of_next


class _ParseIterator(EachIterator):
    """The iterator of the columns of batches of messages."""

    def __init__(self, inner: DatasetIterator, parse: Callable[[Element], Element]) -> None:
        super().__init__(inner)
        self._parse = parse

    def make(self, element: Element) -> type_of_next:
        """Yield the columns of an element's messages."""
        yield from ()
        return self._parse(element)


def _parse_dataset(
    xp: Xp,
    input_dataset: Variant,
    num_parallel_calls: Array,
    dense_defaults: list[Array],
    *,
    sparse_keys: list[str],
    dense_keys: list[str],
    sparse_types: list[DType],
    Tdense: list[DType],
    dense_shapes: list[TensorShape],
    output_types: list[DType],
    output_shapes: list[TensorShape],
    ragged_keys: Sequence[str] = (),
    ragged_value_types: Sequence[DType] = (),
    ragged_split_types: Sequence[DType] = (),
) -> Variant:
    """Return the features of each element's messages, by key.

    They are tensors, and sparse and ragged variants.

    Raises:
      InvalidArgumentError: the number of calls is 0 or below -1, or defaults do not fit.
    """
    source = as_dataset(input_dataset)
    check_parallel_calls(num_parallel_calls)
    for name, given in (("dense_defaults", dense_defaults), ("dense_shapes", dense_shapes)):
        if len(given) != len(dense_keys):
            raise errors.invalid_argument(
                f"Expected len({name}) == len(dense_keys) but got: "
                f"{len(given)} vs. {len(dense_keys)}"
            )
    if any(kind is not dtypes.string for kind in source.types):
        raise errors.invalid_argument("ParseExampleDataset accepts only elements of strings.")
    make_dense(dense_keys, Tdense, dense_shapes, dense_defaults)
    keys = [np.array(one, object) for one in (sparse_keys, dense_keys, ragged_keys)]
    num_sparse, num_dense, num_ragged = map(len, keys)
    kinds = [dtypes.variant] * num_sparse + list(Tdense) + [dtypes.variant] * num_ragged
    order = np.argsort(np.concatenate(keys), kind="stable").tolist()
    dense_defaults = [owned(value) for value in dense_defaults]

    def parse(element: Element) -> Element:
        texts = np.concatenate([np.reshape(part, -1) for part in element])
        found = parse_example_v2_op.function(  # type: ignore[misc]
            *(np, texts, np.array([], object), *keys, dense_defaults),
            Tdense=Tdense,
            sparse_types=sparse_types,
            ragged_value_types=ragged_value_types,
            ragged_split_types=ragged_split_types,
            dense_shapes=dense_shapes,
        )
        columns: list[Array] = []
        for number in range(num_sparse):
            parts = np.empty(3, object)
            parts[:] = found[number : 3 * num_sparse : num_sparse]
            columns.append(parts)
        ragged = found[3 * num_sparse + num_dense :]
        columns += found[3 * num_sparse : 3 * num_sparse + num_dense]
        columns += [
            RaggedTensorVariant((ragged[num_ragged + number],), ragged[number])
            for number in range(num_ragged)
        ]
        element = tuple(columns[position] for position in order)
        check(element)
        return element

    def check(element: Element) -> None:
        if len(element) != len(output_types):
            raise errors.internal(
                f"Expected {len(output_types)} components but got {len(element)}."
            )
        for index, (position, wanted, shape) in enumerate(
            zip(order, output_types, output_shapes, strict=True)
        ):
            kind = kinds[position]
            name = f"FastParseExample return value {index}"
            if kind is not wanted:
                raise errors.invalid_argument(
                    f"Got wrong type for {name} (expected {wanted.name}, got {kind.name})."
                )
            size = np.shape(element[index])
            if not shape.is_compatible_with(TensorShape(size)):
                raise errors.invalid_argument(
                    f"Got wrong shape for {name} (expected {bracketed(shape)}, got "
                    f"{bracketed(size)})."
                )

    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _ParseIterator(source.make(scope), parse),
        source.cardinality,
    )


_IN = (
    "input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense -> handle: variant",
    "sparse_keys: list(string) >= 0", "dense_keys: list(string) >= 0",
    "sparse_types: list({float, int64, string}) >= 0",
    "Tdense: list({float, int64, string}) >= 0", "dense_shapes: list(shape) >= 0", *OUTPUTS,
)  # fmt: skip
_RAGGED = (
    "ragged_keys: list(string) >= 0 = []",
    "ragged_value_types: list({float, int64, string}) >= 0 = []",
    "ragged_split_types: list({int32, int64}) >= 0 = []",
)
_SLOPPY = "sloppy: bool = false"
_ON: dict[str, Any] = {"shape": scalar_handle, "devices": ("CPU",)}

parse_example_dataset = register_op("ParseExampleDataset", *_IN, _SLOPPY, *_RAGGED, **_ON)(
    _parse_dataset
)
experimental_parse_example_dataset = register_op(
    "ExperimentalParseExampleDataset", *_IN, _SLOPPY, **_ON
)(_parse_dataset)
parse_example_dataset_v2 = register_op(
    "ParseExampleDatasetV2", *_IN, "deterministic: string = 'default'", *_RAGGED, **_ON
)(_parse_dataset)
