"""``tf.data.Dataset``: a sequence of elements, and the methods that derive others from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import Dimension, TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import colocate_with
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.structures import nest
from tfnb.library.data.attributes import (
    deterministic_word,
    flat_attrs,
    seed_tensors,
    static_size,
)
from tfnb.library.data.options import Options
from tfnb.library.data.structure import (
    DatasetSpec,
    flat_specs,
    flat_values,
    from_components,
    legacy_classes,
    legacy_shapes,
    legacy_types,
    map_specs,
    map_values,
    normalized,
    shapes_of,
    spec_of,
    to_components,
)
from tfnb.library.data.tensor_spec import TensorSpec
from tfnb.ops.dataset import (
    dataset_batch_ops,
    dataset_fingerprint,
    dataset_function_ops,
    dataset_sequence_ops,
    dataset_shuffle_ops,
    dataset_source_ops,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import IntsLike, Nested, TensorLike
    from tfnb.library.data.iterators import Iterator

EXPORTS = {
    "data": [
        "AUTOTUNE", "Dataset", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY",
        "get_output_classes", "get_output_shapes", "get_output_types",
    ],
    "data.experimental": [
        "AUTOTUNE", "INFINITE_CARDINALITY", "SHARD_HINT", "UNKNOWN_CARDINALITY",
    ],
}  # fmt: skip

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
SHARD_HINT = -1


class Dataset:
    """A sequence of elements; every element is a structure of tensors.

    The static methods make one, the other methods derive one. Nothing is computed before an
    iterator requests an element.
    """

    def __init__(
        self, variant_tensor: Tensor, element_spec: Nested, inputs: Iterable[Dataset] = ()
    ) -> None:
        self._variant_tensor = variant_tensor
        self.element_spec = element_spec
        self._input_datasets = list(inputs)
        self._options = Options()
        for source in self._input_datasets:
            self._options = self._options.merge(source._options)

    def _inputs(self) -> list[Dataset]:
        return list(self._input_datasets)

    @property
    def _flat(self) -> dict[str, Any]:
        return flat_attrs(self.element_spec)

    @property
    def output_types(self) -> Nested:
        """A structure of the dtypes of an element."""
        return legacy_types(self.element_spec)

    @property
    def output_shapes(self) -> Nested:
        """A structure of the static shapes of an element."""
        return legacy_shapes(self.element_spec)

    @property
    def output_classes(self) -> Nested:
        """A structure of the classes of an element."""
        return legacy_classes(self.element_spec)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self.element_spec}>"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Any:
        raise RuntimeError(
            "`tf.data.Dataset` only supports Python-style iteration in eager mode or within "
            "tf.function. In a graph, make an iterator: make_one_shot_iterator(dataset).get_next()."
        )

    def __len__(self) -> int:
        raise TypeError(
            "`tf.data.Dataset` only supports `len` in eager mode. Use "
            "`tf.data.Dataset.cardinality()` instead."
        )

    # ------------------------------------------------------------------------------------- sources

    @staticmethod
    def from_tensors(tensors: TensorLike, name: str | None = None) -> Dataset:
        """Return a dataset of one element: the given tensors."""
        element = normalized(tensors)
        spec = spec_of(element)
        variant = dataset_source_ops.tensor_dataset(
            to_components(spec, element), output_shapes=shapes_of(spec)
        )
        return Dataset(variant, spec)

    @staticmethod
    def from_tensor_slices(tensors: TensorLike, name: str | None = None) -> Dataset:
        """Return the slices of tensors along their first dimension.

        Raises:
          ValueError: there are no tensors, a tensor is a scalar, or first dimensions differ.
        """
        return _slices(tensors, is_files=False)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: TensorLike) -> Dataset:
        """Return the slices of a sparse tensor along its first dimension."""
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(
                f"Invalid `sparse_tensor`. `sparse_tensor` must be a `tf.sparse.SparseTensor`. "
                f"Got {type(sparse_tensor)}."
            )
        variant = dataset_source_ops.sparse_tensor_slice_dataset(
            sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape
        )
        rank = sparse_tensor.shape.rank
        inner = None if rank is None else rank - 1
        spec = (
            TensorSpec([None, inner], dtypes.int64),
            TensorSpec([None], sparse_tensor.dtype),
            TensorSpec([inner], dtypes.int64),
        )
        return Dataset(variant, spec)

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Dataset:
        """Return numbers: ``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``.

        Args:
          *args: the numbers.
          **kwargs: ``output_type``: the elements' dtype, int64 by default. ``name``: accepted.

        Raises:
          ValueError: there are too many or too few numbers.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(
                f"Invalid `args`. The length of `args` should be between 1 and 3 but was "
                f"{len(args)}."
            )
        start, stop, step = (0, *args, 1)[-3:] if len(args) == 1 else (*args, 1)[:3]
        output_type = dtypes.as_dtype(kwargs.get("output_type", dtypes.int64))
        spec = TensorSpec([], output_type)
        tensors = [
            convert_to_tensor(value, dtypes.int64, name=what)
            for value, what in ((start, "start"), (stop, "stop"), (step, "step"))
        ]
        variant = dataset_source_ops.range_dataset(*tensors, **flat_attrs(spec))
        return Dataset(variant, spec)

    @staticmethod
    def from_generator(
        generator: Callable[..., Nested],
        output_types: Nested | None = None,
        output_shapes: Nested | None = None,
        args: Any = None,
        output_signature: Nested | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements of a Python generator; see :func:`from_generator.from_generator`."""
        from tfnb.library.data.from_generator import from_generator

        return from_generator(generator, output_types, output_shapes, args, output_signature)

    @staticmethod
    def zip(*args: Any, datasets: TensorLike | None = None, name: str | None = None) -> Dataset:
        """Return the elements of several datasets side by side, in the structure of ``datasets``.

        Raises:
          TypeError: no datasets are given, or an argument is not a dataset.
        """
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        if datasets is None:
            datasets = args[0] if len(args) == 1 else args
        if isinstance(datasets, list):
            raise TypeError(
                "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                "`tf.data.Dataset` objects. Python `list` is not supported and you should use "
                "`tuple` instead."
            )
        sources: list[Dataset] = []
        map_values(sources.append, datasets)
        for source in sources:
            if not isinstance(source, Dataset):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    f"`tf.data.Dataset` objects but encountered object of type {type(source)}."
                )
        spec = map_values(lambda one: one.element_spec, datasets)
        variant = dataset_sequence_ops.zip_dataset(
            [source._variant_tensor for source in sources], **flat_attrs(spec)
        )
        return Dataset(variant, spec, sources)

    @staticmethod
    def list_files(
        file_pattern: TensorLike,
        shuffle: bool | None = None,
        seed: TensorLike | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the names of matching files, in a random order unless ``shuffle`` is False."""
        from tfnb.library.data.readers import list_files

        return list_files(file_pattern, shuffle, seed)

    @staticmethod
    def random(
        seed: TensorLike | None = None,
        rerandomize_each_iteration: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Return an endless sequence of random 32-bit numbers."""
        spec = TensorSpec([], dtypes.int64)
        first, second = seed_tensors(seed)
        variant = dataset_source_ops.random_dataset(first, second, **flat_attrs(spec))
        return Dataset(variant, spec)

    # --------------------------------------------------------------------------------- functions

    def map(
        self,
        map_func: Callable[..., Nested],
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        synchronous: Any = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Apply ``map_func`` to every element; the members of a tuple are separate arguments."""
        from tfnb.library.data.function_datasets import mapped

        return mapped(self, map_func, num_parallel_calls, deterministic)

    def map_with_legacy_function(
        self,
        map_func: Callable[..., Nested],
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        use_unbounded_threadpool: bool = False,
    ) -> Dataset:
        """Return the same as :meth:`map`; there is only one kind of function here."""
        return self.map(map_func, num_parallel_calls, deterministic)

    def flat_map(self, map_func: Callable[..., Nested], name: str | None = None) -> Dataset:
        """Return the elements of the datasets that ``map_func`` returns, concatenated.

        Raises:
          TypeError: ``map_func`` returns no dataset.
        """
        from tfnb.library.data.function_datasets import flat_mapped

        return flat_mapped(self, map_func)

    def interleave(
        self,
        map_func: Callable[..., Nested],
        cycle_length: TensorLike | None = None,
        block_length: TensorLike | None = None,
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements of the datasets of ``map_func``, ``cycle_length`` of them at a time.

        Args:
          map_func: returns a dataset for an element.
          cycle_length: the number of datasets that take turns; by default that of processors.
          block_length: the number of elements that each one yields per turn.
          num_parallel_calls: accepted; the order is the same.
          deterministic: accepted.
          name: accepted.
        """
        from tfnb.library.data.function_datasets import interleaved

        return interleaved(
            self, map_func, cycle_length, block_length, num_parallel_calls, deterministic
        )

    def filter(self, predicate: Callable[..., Nested], name: str | None = None) -> Dataset:
        """Return the elements for which ``predicate`` is true.

        Raises:
          ValueError: ``predicate`` returns no bool.
        """
        from tfnb.library.data.function_datasets import filtered

        return filtered(self, predicate, "filter", dataset_function_ops.filter_dataset)

    def filter_with_legacy_function(self, predicate: Callable[..., Nested]) -> Dataset:
        """Return the same as :meth:`filter`; there is only one kind of function here."""
        return self.filter(predicate)

    def take_while(self, predicate: Callable[..., Nested], name: str | None = None) -> Dataset:
        """Return the elements before the first one for which ``predicate`` is false.

        Raises:
          ValueError: ``predicate`` returns no bool.
        """
        from tfnb.library.data.function_datasets import filtered

        return filtered(self, predicate, "take_while", dataset_function_ops.take_while_dataset)

    def scan(
        self,
        initial_state: Nested,
        scan_func: Callable[..., Nested],
        name: str | None = None,
    ) -> Dataset:
        """Return the outputs of ``scan_func(state, element)``, which also returns the new state.

        Raises:
          TypeError: ``scan_func`` returns no pair, or a state of another type.
        """
        from tfnb.library.data.function_datasets import scanned

        return scanned(self, initial_state, scan_func)

    def reduce(
        self,
        initial_state: Nested,
        reduce_func: Callable[..., Nested],
        name: str | None = None,
    ) -> Any:
        """Return the final state of ``reduce_func(state, element)`` over all elements.

        Raises:
          TypeError: ``reduce_func`` returns a state of another type.
        """
        from tfnb.library.data.function_datasets import reduced

        return reduced(self, initial_state, reduce_func)

    def group_by_window(
        self,
        key_func: Callable[..., Nested],
        reduce_func: Callable[..., Nested],
        window_size: TensorLike | None = None,
        window_size_func: Callable[..., Nested] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Group elements by key, and apply ``reduce_func`` to each full group.

        Raises:
          ValueError: not exactly one of the window sizes is given, or a function returns no scalar.
          TypeError: ``reduce_func`` returns no dataset.
        """
        from tfnb.library.data.function_datasets import grouped

        return grouped(self, key_func, reduce_func, window_size, window_size_func)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Return the result of a function of this dataset.

        Raises:
          TypeError: the result is not a dataset.
        """
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got "
                f"{type(dataset)}."
            )
        return dataset

    # ------------------------------------------------------------------------------------- batches

    def batch(
        self,
        batch_size: TensorLike,
        drop_remainder: TensorLike = False,
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return batches of ``batch_size`` consecutive elements.

        Args:
          batch_size: the number of elements.
          drop_remainder: whether a smaller last batch is dropped.
          num_parallel_calls: accepted.
          deterministic: accepted.
          name: accepted.
        """
        size = convert_to_tensor(batch_size, dtypes.int64, name="batch_size")
        drops = convert_to_tensor(drop_remainder, dtypes.bool, name="drop_remainder")
        static = static_size(size, drops)
        spec = map_specs(lambda one: one.batched(static), self.element_spec)
        attrs = flat_attrs(spec)
        if num_parallel_calls is None:
            variant = dataset_batch_ops.batch_dataset_v2(self._variant_tensor, size, drops, **attrs)
        else:
            calls = convert_to_tensor(num_parallel_calls, dtypes.int64, name="num_parallel_calls")
            variant = dataset_batch_ops.parallel_batch_dataset(
                self._variant_tensor,
                size,
                calls,
                drops,
                deterministic=deterministic_word(deterministic),
                **attrs,
            )
        return Dataset(variant, spec, [self])

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: TensorLike | None = None,
        padding_values: TensorLike | None = None,
        drop_remainder: TensorLike = False,
        name: str | None = None,
    ) -> Dataset:
        """Return batches of ``batch_size`` consecutive elements, padded to a common shape.

        Args:
          batch_size: the number of elements.
          padded_shapes: a structure of shapes; an unknown size is that of the largest element. The
            static shapes by default.
          padding_values: a structure of scalars; 0 or "" by default.
          drop_remainder: whether a smaller last batch is dropped.
          name: accepted.

        Raises:
          ValueError: a shape does not fit its component, or is unknown.
          TypeError: a component is sparse.
        """
        from tfnb.library.data.padding import padding_of

        size = convert_to_tensor(batch_size, dtypes.int64, name="batch_size")
        shapes, tensors, values = padding_of(self.element_spec, padded_shapes, padding_values)
        drops = convert_to_tensor(drop_remainder, dtypes.bool, name="drop_remainder")
        static = static_size(size, drops)
        specs = [
            TensorSpec(TensorShape([static]).concatenate(shape), one.dtype)
            for shape, one in zip(shapes, flat_specs(self.element_spec))
        ]
        spec = nest.pack_sequence_as(self.element_spec, specs)
        variant = dataset_batch_ops.padded_batch_dataset_v2(
            self._variant_tensor, size, tensors, values, drops, output_shapes=shapes_of(spec)
        )
        return Dataset(variant, spec, [self])

    def window(
        self,
        size: TensorLike,
        shift: TensorLike | None = None,
        stride: IntsLike = 1,
        drop_remainder: TensorLike = False,
        name: str | None = None,
    ) -> Dataset:
        """Return windows of elements, each a structure of datasets."""
        numbers = [
            convert_to_tensor(value, dtypes.int64, name=what)
            for value, what in (
                (size, "size"),
                (size if shift is None else shift, "shift"),
                (stride, "stride"),
            )
        ]
        drops = convert_to_tensor(drop_remainder, dtypes.bool, name="drop_remainder")
        spec = map_specs(DatasetSpec, self.element_spec)
        variant = dataset_batch_ops.window_dataset(
            self._variant_tensor, *numbers, drops, **flat_attrs(spec)
        )
        return Dataset(variant, spec, [self])

    def unbatch(self, name: str | None = None) -> Dataset:
        """Return the rows of every element."""
        specs = flat_specs(self.element_spec)

        def normalize(*args: Any) -> Any:
            element = args[0] if len(args) == 1 else args
            if all(isinstance(one, TensorSpec) for one in specs):
                return element
            values = flat_values(self.element_spec, element)
            return tuple(one.to_rows(value) for one, value in zip(specs, values, strict=True))

        source = self.map(normalize)
        spec = map_specs(lambda one: one.unbatched(), self.element_spec)
        variant = dataset_batch_ops.unbatch_dataset(source._variant_tensor, **flat_attrs(spec))
        return Dataset(variant, spec, [source])

    def rebatch(
        self, batch_size: TensorLike, drop_remainder: TensorLike = False, name: str | None = None
    ) -> Dataset:
        """Return batches split or joined to one size, or to several sizes in turn."""
        from tfnb.library.data.rebatching import rebatch

        return rebatch(self, batch_size, drop_remainder)

    def ragged_batch(
        self,
        batch_size: TensorLike,
        drop_remainder: TensorLike = False,
        row_splits_dtype: DTypeLike = dtypes.int64,
        name: str | None = None,
    ) -> Dataset:
        """Return batches of ``batch_size`` elements; tensors of varying shapes become ragged."""
        from tfnb.library.data.rebatching import ragged_batch

        return ragged_batch(self, batch_size, drop_remainder, row_splits_dtype)

    def sparse_batch(
        self, batch_size: TensorLike, row_shape: TensorLike, name: str | None = None
    ) -> Dataset:
        """Return batches of tensors as one sparse tensor, with rows of a given shape."""
        from tfnb.library.data.rebatching import sparse_batch

        return sparse_batch(self, batch_size, row_shape)

    def rejection_resample(
        self,
        class_func: Callable[..., Nested],
        target_dist: TensorLike,
        initial_dist: TensorLike | None = None,
        seed: TensorLike | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Drop elements so that classes have a target frequency; return pairs (class, element)."""
        from tfnb.library.data.resampling import rejection_resample

        return rejection_resample(self, class_func, target_dist, initial_dist, seed)

    def enumerate(self, start: TensorLike = 0, name: str | None = None) -> Dataset:
        """Return pairs (number, element)."""
        numbers = Dataset.range(start, np.iinfo(np.int64).max)
        return Dataset.zip((_rewritten(numbers), self))

    # ----------------------------------------------------------------------------------- selection

    def same_elements(self, build: Any, *args: Any, **attrs: Any) -> Dataset:
        """Return a dataset made of this one by an op that changes no elements; internal to tfnb."""
        variant = build(self._variant_tensor, *args, **attrs, **self._flat)
        return Dataset(variant, self.element_spec, [self])

    def repeat(self, count: TensorLike | None = None, name: str | None = None) -> Dataset:
        """Repeat the elements ``count`` times; endlessly if ``count`` is None or -1."""
        number = convert_to_tensor(-1 if count is None else count, dtypes.int64, name="count")
        return self.same_elements(dataset_sequence_ops.repeat_dataset, number)

    def take(self, count: TensorLike, name: str | None = None) -> Dataset:
        """Return at most the first ``count`` elements; all if ``count`` is -1."""
        number = convert_to_tensor(count, dtypes.int64, name="count")
        return self.same_elements(dataset_sequence_ops.take_dataset, number)

    def skip(self, count: TensorLike, name: str | None = None) -> Dataset:
        """Return all except the first ``count`` elements; none if ``count`` is -1."""
        number = convert_to_tensor(count, dtypes.int64, name="count")
        return self.same_elements(dataset_sequence_ops.skip_dataset, number)

    def shard(self, num_shards: TensorLike, index: TensorLike, name: str | None = None) -> Dataset:
        """Return every ``num_shards``-th element, starting with element ``index``."""
        shards = convert_to_tensor(num_shards, dtypes.int64, name="num_shards")
        own = convert_to_tensor(index, dtypes.int64, name="index")
        return self.same_elements(dataset_sequence_ops.shard_dataset, shards, own)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Return the elements of this dataset, then those of another.

        Raises:
          TypeError: types or classes of elements differ.
        """
        try:
            nest.assert_same_structure(self.element_spec, dataset.element_spec)
            spec = map_specs(
                lambda one, other: one.most_general(other), self.element_spec, dataset.element_spec
            )
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Incompatible dataset elements:\n  {self.element_spec} vs.   "
                f"{dataset.element_spec}"
            ) from error
        variant = dataset_sequence_ops.concatenate_dataset(
            self._variant_tensor, dataset._variant_tensor, **flat_attrs(spec)
        )
        return Dataset(variant, spec, [self, dataset])

    def shuffle(
        self,
        buffer_size: TensorLike,
        seed: TensorLike | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements in a random order, the same as TensorFlow's for given seeds."""
        size = convert_to_tensor(buffer_size, dtypes.int64, name="buffer_size")
        first, second = seed_tensors(seed)
        reshuffles = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return self.same_elements(
            dataset_shuffle_ops.shuffle_dataset,
            size,
            first,
            second,
            reshuffle_each_iteration=reshuffles,
        )

    def cache(self, filename: TensorLike = "", name: str | None = None) -> Dataset:
        """Return the elements, cached in memory or in a file after the first complete pass."""
        tensor = convert_to_tensor(filename, dtypes.string, name="filename")
        return self.same_elements(dataset_sequence_ops.cache_dataset, tensor)

    def prefetch(self, buffer_size: TensorLike, name: str | None = None) -> Dataset:
        """Return the same elements."""
        size = convert_to_tensor(
            AUTOTUNE if buffer_size is None else buffer_size, dtypes.int64, name="buffer_size"
        )
        with colocate_with(self._variant_tensor):
            return self.same_elements(
                dataset_sequence_ops.prefetch_dataset, size, slack_period=0, legacy_autotune=False
            )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Return the elements without those whose computation fails."""
        return self.same_elements(
            dataset_sequence_ops.ignore_errors_dataset, log_warning=log_warning
        )

    def unique(self, name: str | None = None) -> Dataset:
        """Return the first occurrence of each distinct element.

        Raises:
          TypeError: the elements are not int32, int64 or string.
        """
        for dtype in nest.flatten(self.output_types):
            if dtype not in (dtypes.int32, dtypes.int64, dtypes.string):
                raise TypeError(
                    f"`tf.data.Dataset.unique` does not support type {dtype} -- only "
                    "`tf.int32`, `tf.int64`, and `tf.string` are supported."
                )
        return self.same_elements(dataset_sequence_ops.unique_dataset)

    def save(
        self,
        path: str,
        compression: str | None = None,
        shard_func: Callable[..., Nested] | None = None,
        checkpoint_args: Any = None,
    ) -> Operation:
        """Return an operation that writes the elements to files, which ``load`` reads.

        The files are those of TensorFlow (``python/data/ops/save_op.py``). The element spec is
        written at once.

        Args:
          path: the path of a folder.
          compression: "GZIP", "ZLIB", "SNAPPY", or "NONE".
          shard_func: returns the number of an element's file, an int64; one file by default.
          checkpoint_args: for eager mode; ignored in a graph, as in TensorFlow.

        Raises:
          TypeError: the path is not text.
        """
        from tfnb.library.data.saving import saved

        return saved(self, path, compression, shard_func)

    @staticmethod
    def load(
        path: str,
        element_spec: Nested | None = None,
        compression: str | None = None,
        reader_func: Callable[[Dataset], Dataset] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Return the elements that ``save`` wrote.

        Args:
          path: the path of the folder.
          element_spec: the spec of the elements; by default the one in the folder.
          compression: the compression of the files.
          reader_func: makes a dataset from a dataset whose elements are the files' datasets; by
            default, the files take turns.
          wait: whether to wait until there is something to load.

        Raises:
          NotFoundError: nothing was saved there; when elements are requested, also that the save
            was incomplete.
        """
        from tfnb.library.data.saving import loaded

        return loaded(path, element_spec, compression, reader_func, wait)

    def snapshot(
        self,
        path: str,
        compression: str | None = "AUTO",
        reader_func: Callable[[Dataset], Dataset] | None = None,
        shard_func: Callable[..., Nested] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the same elements, written to files by the first iterator that reaches the end.

        Later iterators, also of other processes, read the files instead, as long as the preceding
        pipeline is the same.

        Args:
          path: the path of a folder.
          compression: "AUTO", "SNAPPY", "GZIP", "ZLIB" or None.
          reader_func: as for ``load``.
          shard_func: returns the number of an element's file, an int64.
          name: ignored.

        Raises:
          TypeError: shard_func returns no integer.
        """
        from tfnb.library.data.saving import snapshotted

        return snapshotted(self, path, compression, reader_func, shard_func)

    def fingerprint(self) -> Tensor:
        """Return a uint64 number that is equal for equal pipelines, also in other processes."""
        tensor: Tensor = dataset_fingerprint.dataset_fingerprint(self._variant_tensor)
        return tensor

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Return the same elements with other settings."""
        merged = self._options.merge(options)
        with colocate_with(self._variant_tensor):
            dataset = self.same_elements(
                dataset_sequence_ops.options_dataset, serialized_options=merged.serialized()
            )
        dataset._options = merged
        return dataset

    def options(self) -> Options:
        """Return the options of the pipeline."""
        return self._options

    @staticmethod
    def counter(
        start: TensorLike = 0,
        step: TensorLike = 1,
        dtype: DTypeLike = dtypes.int64,
        name: str | None = None,
    ) -> Dataset:
        """Return an endless sequence of numbers."""
        from tfnb.library.data.experimental import Counter

        return Counter(start, step, dtype)

    @staticmethod
    def sample_from_datasets(
        datasets: Any,
        weights: TensorLike | None = None,
        seed: TensorLike | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Return elements of several datasets; each comes from a dataset chosen at random."""
        from tfnb.library.data.bucketing import sample_from_datasets

        return sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Nested],
        bucket_boundaries: Any,
        bucket_batch_sizes: Any,
        padded_shapes: TensorLike | None = None,
        padding_values: TensorLike | None = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return batches of elements whose lengths lie between the same two boundaries."""
        from tfnb.library.data.bucketing import bucket_by_sequence_length

        return self.apply(
            bucket_by_sequence_length(
                *(element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes),
                *(padding_values, pad_to_bucket_boundary, no_padding, drop_remainder),
            )
        )

    def as_numpy_iterator(self) -> Any:
        """Raise an error: it is not supported in a graph.

        Raises:
          RuntimeError: always; names the alternative.
        """
        raise RuntimeError(
            "as_numpy_iterator() is not supported while tracing functions: use "
            "tf.data.make_one_shot_iterator(dataset).get_next() and run it in a session"
        )

    @staticmethod
    def choose_from_datasets(
        datasets: Any, choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Return elements of several datasets, in the order given by a dataset of numbers."""
        from tfnb.library.data.experimental import choose_from_datasets

        return choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)

    # ------------------------------------------------------------------------------------ queries

    def cardinality(self) -> Tensor:
        """Return the number of elements; -1 for infinite, -2 for unknown."""
        found: Tensor = dataset_function_ops.dataset_cardinality(self._variant_tensor)
        return found

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element."""
        results = dataset_function_ops.dataset_to_single_element(self._variant_tensor, **self._flat)
        return from_components(self.element_spec, results)

    def make_one_shot_iterator(self) -> Iterator:
        """Return an iterator that needs no initialization; see :func:`make_one_shot_iterator`."""
        from tfnb.library.data.iterators import make_one_shot_iterator

        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Return an iterator with an initializer; see :func:`make_initializable_iterator`."""
        from tfnb.library.data.iterators import make_initializable_iterator

        return make_initializable_iterator(self, shared_name)


class VariantDataset(Dataset):
    """The dataset of an existing variant tensor."""


# --------------------------------------------------------------------------------- other functions


def _slices(tensors: TensorLike, is_files: bool) -> Dataset:
    element = normalized(tensors)
    whole = spec_of(element)
    if not flat_specs(whole):
        raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
    spec = map_specs(lambda one: one.unbatched(), whole)
    components = [
        one.to_rows(value) for one, value in zip(flat_specs(whole), flat_values(whole, element))
    ]
    size = Dimension(None)
    for one in flat_specs(whole):
        if one.shape.rank is not None:
            size.assert_is_compatible_with(one.shape[0])
            size = size.merge_with(one.shape[0])
    variant = dataset_source_ops.tensor_slice_dataset(
        components, output_shapes=shapes_of(spec), is_files=is_files
    )
    return Dataset(variant, spec)


def _rewritten(dataset: Dataset, rewrite: str = "replicate_on_split") -> Dataset:
    return dataset.same_elements(dataset_sequence_ops.rewrite_dataset, rewrite)


def get_output_types(dataset_or_iterator: Any) -> Nested:
    """Return a structure of the dtypes of the elements of a dataset or iterator."""
    return legacy_types(dataset_or_iterator.element_spec)


def get_output_shapes(dataset_or_iterator: Any) -> Nested:
    """Return a structure of the static shapes of the elements of a dataset or iterator."""
    return legacy_shapes(dataset_or_iterator.element_spec)


def get_output_classes(dataset_or_iterator: Any) -> Nested:
    """Return a structure of the classes of the elements of a dataset or iterator."""
    return legacy_classes(dataset_or_iterator.element_spec)


def dataset_class() -> type[Dataset]:
    """Return the class of datasets, for the spec of a dataset."""
    return Dataset
