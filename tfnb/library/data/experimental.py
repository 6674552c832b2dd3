"""``tf.data.experimental``: transformations for ``Dataset.apply``, and related functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.data.attributes import flat_attrs, seed_tensors, static_size
from tfnb.library.data.dataset import Dataset, _rewritten
from tfnb.library.data.function_datasets import function_of_datasets
from tfnb.library.data.structure import map_specs
from tfnb.library.data.structured_function import StructuredFunction
from tfnb.library.data.tensor_spec import TensorSpec
from tfnb.ops.dataset import (
    dataset_batch_ops,
    dataset_function_ops,
    dataset_sequence_ops,
    dataset_shuffle_ops,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike

    type_of_transformation = Callable[[Dataset], Dataset]

EXPORTS = {
    "data.experimental": [
        "Counter", "RandomDataset", "assert_cardinality", "cardinality", "choose_from_datasets",
        "enumerate_dataset", "from_variant", "get_single_element", "group_by_window",
        "ignore_errors", "map_and_batch", "map_and_batch_with_legacy_function:map_and_batch",
        "parallel_interleave", "scan", "shuffle_and_repeat", "take_while", "to_variant", "unbatch",
        "unique",
    ],
}  # fmt: skip


def cardinality(dataset: Dataset) -> Tensor:
    """Return the number of elements; -1 if infinite, -2 if unknown."""
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element of a dataset."""
    return dataset.get_single_element()


def to_variant(dataset: Dataset) -> Tensor:
    """Return a dataset's variant tensor."""
    return dataset._variant_tensor


def from_variant(variant: Tensor, structure: Nested) -> Dataset:
    """Return the dataset of a variant tensor."""
    return Dataset(variant, structure)


def Counter(
    start: TensorLike = 0, step: TensorLike = 1, dtype: DTypeLike = dtypes.int64
) -> Dataset:
    """Return an infinite dataset of evenly spaced numbers."""
    with name_scope("counter"):
        first = convert_to_tensor(start, dtype, name="start")
        by = convert_to_tensor(step, dtype, name="step")
        endless = Dataset.from_tensors(0).repeat(None)
        return endless.scan(first, lambda state, _: (state + by, state))


class RandomDataset(Dataset):
    """An infinite dataset of random 32-bit numbers."""

    def __init__(
        self,
        seed: TensorLike | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> None:
        made = Dataset.random(seed, rerandomize_each_iteration, name)
        super().__init__(made._variant_tensor, made.element_spec)


def unbatch() -> type_of_transformation:
    """Return :meth:`Dataset.unbatch` for ``apply``."""
    return lambda dataset: dataset.unbatch()


def unique() -> type_of_transformation:
    """Return :meth:`Dataset.unique` for ``apply``."""
    return lambda dataset: dataset.unique()


def enumerate_dataset(start: TensorLike = 0) -> type_of_transformation:
    """Return :meth:`Dataset.enumerate` for ``apply``."""
    return lambda dataset: dataset.enumerate(start)


def ignore_errors(log_warning: bool = False) -> type_of_transformation:
    """Return :meth:`Dataset.ignore_errors` for ``apply``."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def take_while(predicate: Callable[..., Nested]) -> type_of_transformation:
    """Return :meth:`Dataset.take_while` for ``apply``."""
    return lambda dataset: dataset.take_while(predicate)


def scan(initial_state: Nested, scan_func: Callable[..., Nested]) -> type_of_transformation:
    """Return :meth:`Dataset.scan` for ``apply``."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def group_by_window(
    key_func: Callable[..., Nested],
    reduce_func: Callable[..., Nested],
    window_size: Any = None,
    window_size_func: Callable[..., Nested] | None = None,
) -> type_of_transformation:
    """Return :meth:`Dataset.group_by_window` for ``apply``."""
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


def shuffle_and_repeat(
    buffer_size: TensorLike, count: TensorLike | None = None, seed: TensorLike | None = None
) -> type_of_transformation:
    """Repeat the elements, reshuffled in each repetition."""

    def apply(dataset: Dataset) -> Dataset:
        size = convert_to_tensor(buffer_size, dtypes.int64, name="buffer_size")
        times = convert_to_tensor(-1 if count is None else count, dtypes.int64, name="count")
        first, second = seed_tensors(seed)
        return dataset.same_elements(
            dataset_shuffle_ops.shuffle_and_repeat_dataset, size, first, second, times
        )

    return apply


def map_and_batch(
    map_func: Callable[..., Nested],
    batch_size: TensorLike,
    num_parallel_batches: Any = None,
    drop_remainder: TensorLike = False,
    num_parallel_calls: TensorLike | None = None,
) -> type_of_transformation:
    """Map ``map_func`` over the elements and combine ``batch_size`` results into each batch.

    Raises:
      ValueError: both ``num_parallel_batches`` and ``num_parallel_calls`` are given.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to "
            "be set, but both were."
        )
    calls = num_parallel_calls
    if calls is None:
        calls = batch_size * (1 if num_parallel_batches is None else num_parallel_batches)

    def apply(dataset: Dataset) -> Dataset:
        function = StructuredFunction(
            map_func, "tf.data.experimental.map_and_batch", dataset.element_spec
        )
        size = convert_to_tensor(batch_size, dtypes.int64, name="batch_size")
        number = convert_to_tensor(calls, dtypes.int64, name="num_parallel_calls")
        drops = convert_to_tensor(drop_remainder, dtypes.bool, name="drop_remainder")
        static = static_size(size, drops)
        spec = map_specs(lambda one: one.batched(static), function.output_spec)
        variant = dataset_batch_ops.map_and_batch_dataset(
            dataset._variant_tensor,
            function.captured_inputs,
            size,
            number,
            drops,
            f=function.attr,
            preserve_cardinality=True,
            **flat_attrs(spec),
        )
        return Dataset(variant, spec, [dataset])

    return apply


def parallel_interleave(
    map_func: Callable[..., Nested],
    cycle_length: TensorLike,
    block_length: TensorLike = 1,
    sloppy: bool | None = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> type_of_transformation:
    """Interleave several datasets; the order is deterministic for any value of ``sloppy``."""

    def apply(dataset: Dataset) -> Dataset:
        function, spec = function_of_datasets(
            dataset, map_func, "tf.data.experimental.parallel_interleave"
        )
        buffered = 2 * block_length if buffer_output_elements is None else buffer_output_elements
        ahead = 2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements
        numbers = [
            convert_to_tensor(value, dtypes.int64, name=what)
            for value, what in (
                (cycle_length, "cycle_length"),
                (block_length, "block_length"),
                (buffered, "buffer_output_elements"),
                (ahead, "prefetch_input_elements"),
            )
        ]
        word = "default" if sloppy is None else "false" if sloppy else "true"
        variant = dataset_function_ops.legacy_parallel_interleave_dataset_v2(
            dataset._variant_tensor,
            function.captured_inputs,
            *numbers,
            f=function.attr,
            deterministic=word,
            **flat_attrs(spec),
        )
        return Dataset(variant, spec, [dataset])

    return apply


def assert_cardinality(expected_cardinality: TensorLike) -> type_of_transformation:
    """Check that the dataset has exactly ``expected_cardinality`` elements."""

    def apply(dataset: Dataset) -> Dataset:
        count = convert_to_tensor(expected_cardinality, dtypes.int64, name="expected_cardinality")
        return dataset.same_elements(dataset_sequence_ops.assert_cardinality_dataset, count)

    return apply


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Return elements of several datasets, in the order given by a dataset of their indices.

    Raises:
      ValueError: there are no datasets.
      TypeError: the choices are not scalars of type int64.
    """
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    spec = choice_dataset.element_spec
    if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(
        TensorSpec([], dtypes.int64)
    ):
        raise TypeError(
            "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` "
            f"tensors but are {spec!r}."
        )
    common = datasets[0].element_spec
    for other in datasets[1:]:
        common = map_specs(lambda one, two: one.most_general(two), common, other.element_spec)
    variant = dataset_sequence_ops.directed_interleave_dataset(
        _rewritten(choice_dataset)._variant_tensor,
        [dataset._variant_tensor for dataset in datasets],
        stop_on_empty_dataset=stop_on_empty_dataset,
        **flat_attrs(common),
    )
    return Dataset(variant, common, [choice_dataset, *datasets])
