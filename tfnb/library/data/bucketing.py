"""Batches of elements of similar length, and elements of datasets chosen at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies
from tfnb.framework.structures import nest
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.check_ops import assert_less
from tfnb.library.data.attributes import flat_attrs
from tfnb.library.data.dataset import Dataset
from tfnb.library.data.structure import _leaves, map_specs
from tfnb.library.data.structured_function import StructuredFunction
from tfnb.ops.array.concat_ops import stack
from tfnb.ops.array.shape_ops import expand_dims, squeeze
from tfnb.ops.array.where_ops import where
from tfnb.ops.dataset import dataset_function_ops, dataset_sequence_ops
from tfnb.ops.math.comparison_ops import less, less_equal, logical_and
from tfnb.ops.math.cwise_unary_ops import log
from tfnb.ops.math.reduction_ops import reduce_min
from tfnb.ops.random.stateless_random_ops import stateless_multinomial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {"data.experimental": ["bucket_by_sequence_length", "sample_from_datasets"]}


def bucket_by_sequence_length(
    element_length_func: Callable[..., Nested],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: TensorLike | None = None,
    padding_values: TensorLike | None = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Callable[[Dataset], Dataset]:
    """Return batches of elements whose lengths lie between the same two boundaries.

    Args:
      element_length_func: returns the length of an element, an int32.
      bucket_boundaries: the lengths that separate the buckets.
      bucket_batch_sizes: the batch size of each bucket; one more than boundaries.
      padded_shapes: as for ``padded_batch``; by default unknown sizes are filled up.
      padding_values: as for ``padded_batch``.
      pad_to_bucket_boundary: whether unknown sizes are filled up to one less than the boundary.
      no_padding: whether elements are joined without padding.
      drop_remainder: whether batches that are not full at the end are dropped.

    Raises:
      ValueError: the number of batch sizes is wrong.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(
            "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
            f"`len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and "
            f"`len(bucket_boundaries)={len(bucket_boundaries)}`."
        )
    lowest = [np.iinfo(np.int32).min, *bucket_boundaries]
    highest = [*bucket_boundaries, np.iinfo(np.int32).max]

    def element_to_bucket_id(*args: Any) -> Tensor:
        length = element_length_func(*args)
        fits = logical_and(
            less_equal(np.array(lowest, np.int32), length),
            less(length, np.array(highest, np.int32)),
        )
        bucket: Tensor = reduce_min(where(fits))
        return bucket

    def apply(dataset: Dataset) -> Dataset:
        sizes = convert_to_tensor(np.array(bucket_batch_sizes, np.int64))

        def window_size(bucket: TensorLike) -> Any:
            return sizes[bucket]

        def shapes_of(bucket: TensorLike) -> Nested:
            """Return the padded shapes of a bucket, in the structure of an element."""
            shapes = padded_shapes
            if shapes is None:
                shapes = map_specs(lambda spec: spec.shape, dataset.element_spec)
            if not pad_to_bucket_boundary:
                return shapes
            check = assert_less(
                bucket,
                np.int64(len(bucket_batch_sizes) - 1),
                message="When pad_to_bucket_boundary=True, elements must have length < "
                "max(bucket_boundaries).",
            )
            with control_dependencies([check]):
                longest = convert_to_tensor(np.array(bucket_boundaries, np.int64))[bucket] - 1
            leaves = [TensorShape(one).as_list() for one in _leaves(dataset.element_spec, shapes)]
            filled = [
                stack([longest if size is None else np.int64(size) for size in sizes])
                if sizes
                else TensorShape([])
                for sizes in leaves
            ]
            return nest.pack_sequence_as(dataset.element_spec, filled)

        def batching_fn(bucket: TensorLike, window: Dataset) -> Dataset:
            size = window_size(bucket)
            if no_padding:
                return window.batch(size, drop_remainder=drop_remainder)
            return window.padded_batch(size, shapes_of(bucket), padding_values, drop_remainder)

        return dataset.group_by_window(
            element_to_bucket_id, batching_fn, window_size_func=window_size
        )

    return apply


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: TensorLike | None = None,
    seed: TensorLike | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Return elements of several datasets; each comes from a dataset chosen at random.

    Args:
      datasets: the datasets.
      weights: the probability of each dataset, a list or a tensor; equal by default.
      seed: the seed of the choice.
      stop_on_empty_dataset: whether the end of one dataset is the end.

    Raises:
      ValueError: there are no datasets, or another number of weights.
    """
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if weights is not None and not isinstance(weights, Tensor) and len(weights) != len(datasets):
        raise ValueError(
            f"Invalid `weights`. `weights` should have the same length as `datasets` but got "
            f"{len(weights)} weights for {len(datasets)} datasets."
        )
    if len(datasets) == 1:
        return datasets[0]
    if weights is None:
        logits: TensorLike = [[1.0] * len(datasets)]
    else:
        logits = expand_dims(log(convert_to_tensor(weights, name="weights"), name="logits"), 0)

    def select_dataset_constant_logits(choice_seed: TensorLike) -> Tensor:
        drawn = stateless_multinomial(logits, 1, seed=choice_seed)
        chosen: Tensor = squeeze(drawn, axis=[0, 1])
        return chosen

    seeds = Dataset.random(seed).batch(2)
    choice = StructuredFunction(select_dataset_constant_logits, "Dataset.map", seeds.element_spec)
    choices = dataset_function_ops.map_dataset(
        seeds._variant_tensor,
        choice.captured_inputs,
        f=choice.attr,
        use_inter_op_parallelism=False,
        preserve_cardinality=True,
        **flat_attrs(choice.output_spec),
    )
    common = datasets[0].element_spec
    for other in datasets[1:]:
        common = map_specs(lambda one, two: one.most_general(two), common, other.element_spec)
    variant = dataset_sequence_ops.directed_interleave_dataset(
        choices,
        [dataset._variant_tensor for dataset in datasets],
        stop_on_empty_dataset=stop_on_empty_dataset,
        **flat_attrs(common),
    )
    return Dataset(variant, common, datasets)
