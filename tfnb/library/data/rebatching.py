"""Rebatching, batches of tensors of different shapes, and reductions by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.structures import nest
from tfnb.library.data.attributes import flat_attrs
from tfnb.library.data.dataset import Dataset
from tfnb.library.data.function_datasets import with_state
from tfnb.library.data.ragged_spec import RaggedTensorSpec
from tfnb.library.data.structure import (
    SparseTensorSpec,
    flat_specs,
    flat_values,
    map_specs,
    normalized,
)
from tfnb.library.data.structured_function import StructuredFunction
from tfnb.library.data.tensor_spec import TensorSpec
from tfnb.ops.dataset import dataset_rebatch_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike

    type_of_transformation = Callable[[Dataset], Dataset]

EXPORTS = {
    "data.experimental": [
        "Reducer", "copy_to_device", "dense_to_ragged_batch", "dense_to_sparse_batch", "from_list",
        "group_by_reducer", "pad_to_cardinality", "prefetch_to_device",
    ],
}  # fmt: skip


def rebatch(dataset: Dataset, batch_size: TensorLike, drop_remainder: TensorLike) -> Dataset:
    """Implement :meth:`Dataset.rebatch`."""
    if any(one.shape.rank == 0 for one in flat_specs(dataset.element_spec)):
        raise ValueError(
            "Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with "
            "scalar elements. Fix the issue by adding the `batch` transformation to the dataset."
        )
    source = dataset.map(lambda *args: args[0] if len(args) == 1 else args)
    sizes = convert_to_tensor(batch_size, dtypes.int64, name="batch_sizes")
    drops = convert_to_tensor(drop_remainder, dtypes.bool, name="drop_remainder")
    spec = map_specs(lambda one: one.unbatched().batched(None), dataset.element_spec)
    variant = dataset_rebatch_ops.rebatch_dataset_v2(
        source._variant_tensor, sizes, drops, **flat_attrs(spec)
    )
    return Dataset(variant, spec, [source])


def sparse_batch(dataset: Dataset, batch_size: TensorLike, row_shape: TensorLike) -> Dataset:
    """Implement :meth:`Dataset.sparse_batch`.

    Raises:
      TypeError: the elements are not tensors.
      ValueError: a size is negative; None is an unknown one.
    """
    one = dataset.element_spec
    if not isinstance(one, TensorSpec):
        raise TypeError(
            "`dense_to_sparse_batch` requires an input dataset whose elements have a single "
            f"component, whereas the input has {one!r}."
        )
    sizes = TensorShape(row_shape).as_list()
    wanted = np.array([-1 if size is None else size for size in sizes], np.int64)
    spec = SparseTensorSpec([None, *sizes], one.dtype)
    variant = dataset_rebatch_ops.dense_to_sparse_batch_dataset(
        dataset._variant_tensor,
        convert_to_tensor(batch_size, dtypes.int64),
        convert_to_tensor(wanted),
        **flat_attrs(spec),
    )
    return Dataset(variant, spec, [dataset])


def ragged_batch(
    dataset: Dataset,
    batch_size: TensorLike,
    drop_remainder: TensorLike,
    row_splits_dtype: DTypeLike,
) -> Dataset:
    """Implement :meth:`Dataset.ragged_batch`."""

    def ragged(one: TensorLike) -> Any:
        """Return the spec of a tensor that becomes a row of a ragged tensor."""
        if not isinstance(one, TensorSpec) or one.shape.is_fully_defined():
            return one
        if one.shape.rank is None:
            raise ValueError(f"ragged_batch needs elements of known rank, not {one!r}")
        sizes = one.shape.as_list()
        rank = max(axis for axis, size in enumerate(sizes) if size is None)
        return RaggedTensorSpec(one.shape, one.dtype, rank, row_splits_dtype)

    specs = [ragged(one) for one in flat_specs(dataset.element_spec)]
    spec = nest.pack_sequence_as(dataset.element_spec, specs)

    def to_rows(*args: Any) -> Any:
        values = flat_values(dataset.element_spec, args[0] if len(args) == 1 else args)
        return tuple(
            one.to_component(_with_rank(value, one) if isinstance(one, RaggedTensorSpec) else value)
            for one, value in zip(specs, values, strict=True)
        )

    mapped = dataset.map(to_rows)
    return Dataset(mapped._variant_tensor, spec, [mapped]).batch(batch_size, drop_remainder)


def _with_rank(tensor: TensorLike, spec: RaggedTensorSpec) -> Any:
    """Return a tensor as a ragged tensor with the spec's ragged rank."""
    from tfnb.library.ragged.ragged_tensor import RaggedTensor

    if not spec.ragged_rank or isinstance(tensor, RaggedTensor):
        return tensor
    return RaggedTensor.from_tensor(
        tensor, ragged_rank=spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype
    )


def dense_to_ragged_batch(
    batch_size: TensorLike,
    drop_remainder: TensorLike = False,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> type_of_transformation:
    """Return :meth:`Dataset.ragged_batch` for ``apply``."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def dense_to_sparse_batch(batch_size: TensorLike, row_shape: TensorLike) -> type_of_transformation:
    """Return :meth:`Dataset.sparse_batch` for ``apply``."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> type_of_transformation:
    """Return the same elements: the session copies them to devices."""
    return lambda dataset: dataset


def prefetch_to_device(
    device: str, buffer_size: TensorLike | None = None
) -> type_of_transformation:
    """Return the same elements: the session copies them to devices."""
    return lambda dataset: dataset.prefetch(1 if buffer_size is None else buffer_size)


def from_list(elements: Nested, name: str | None = None) -> Dataset:
    """Return a dataset of a list's elements, which must have one structure.

    Raises:
      ValueError: the list is empty.
      TypeError: structures or dtypes differ.
    """
    from tfnb.library.data.structure import spec_of, to_components

    if not elements:
        raise ValueError("Invalid `elements`. `elements` should not be empty.")
    values = [normalized(element) for element in elements]
    specs = [spec_of(value) for value in values]
    spec = specs[0]
    for other in specs[1:]:
        nest.assert_same_structure(spec, other)
        spec = map_specs(lambda one, two: one.most_general(two), spec, other)
    tensors = [
        tensor
        for one, value in zip(specs, values, strict=True)
        for tensor in to_components(one, value)
    ]
    variant = dataset_rebatch_ops.list_dataset(tensors, **flat_attrs(spec))
    return Dataset(variant, spec)


def pad_to_cardinality(cardinality: Any, mask_key: str = "valid") -> type_of_transformation:
    """Pad with zero elements to this number; a new component marks the real ones.

    Raises:
      ValueError: the elements are not dicts, or have the component ``mask_key`` already.
    """

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        if not isinstance(spec, dict):
            raise ValueError(
                f"`pad_to_cardinality` requires its input dataset to be a dictionary, got {spec!r}."
            )
        if mask_key in spec:
            raise ValueError(f"{mask_key!r} is already a component of the elements.")
        if not all(one.shape.is_fully_defined() for one in flat_specs(spec)):
            raise ValueError(f"`pad_to_cardinality` requires fully defined shapes, got {spec!r}.")

        def marked(is_true: bool) -> Callable[[Any], Any]:
            return lambda element: {**element, mask_key: convert_to_tensor(is_true)}

        zeros = {
            key: np.zeros(one.shape.as_list(), one.dtype.as_numpy_dtype)
            if one.dtype is not dtypes.string
            else np.full(one.shape.as_list(), b"", object)
            for key, one in spec.items()
        }
        true = dataset.map(marked(True))
        padding = Dataset.from_tensors(zeros).map(marked(False)).repeat()
        return true.concatenate(padding).take(cardinality)

    return apply


class Reducer:
    """A reduction of the elements of one key.

    Args:
      init_func: makes the initial state of a key.
      reduce_func: computes a new state from a state and an element.
      finalize_func: computes the result from the last state.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Nested],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(key_func: Callable[..., Nested], reducer: Reducer) -> type_of_transformation:
    """Reduce the elements of each key; the results come in ascending order of keys.

    Raises:
      ValueError: ``key_func`` does not return an int64 scalar.
      TypeError: the reducer's functions do not fit each other.
    """

    def apply(dataset: Dataset) -> Dataset:
        what, scalar = "tf.data.experimental.group_by_reducer()", TensorSpec([], dtypes.int64)
        key = StructuredFunction(key_func, what, dataset.element_spec)
        if not isinstance(key.output_spec, TensorSpec) or not key.output_spec.is_compatible_with(
            scalar
        ):
            raise ValueError(
                "Invalid `key_func`. Expected `key_func` to return a scalar tf.int64 tensor, but "
                f"instead `key_func` has return type {key.output_spec!r}."
            )
        init = StructuredFunction(reducer.init_func, what, scalar)
        reduced, state_spec = with_state(
            reducer.reduce_func, what, init.output_spec, dataset.element_spec,
            lambda found: found, lambda spec: spec,
        )  # fmt: skip
        final = StructuredFunction(reducer.finalize_func, what, state_spec)
        spec = final.output_spec
        functions = (key, init, reduced, final)
        variant = dataset_rebatch_ops.group_by_reducer_dataset(
            dataset._variant_tensor,
            *(function.captured_inputs for function in functions),
            key_func=key.attr,
            init_func=init.attr,
            reduce_func=reduced.attr,
            finalize_func=final.attr,
            **flat_attrs(spec),
        )
        return Dataset(variant, spec, [dataset])

    return apply
