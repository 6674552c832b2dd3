"""Datasets saved to files, loaded from them, or both: SaveDataset, LoadDataset, snapshots.

The files have TensorFlow's format (``core/files/snapshot_files.py``), for reading and writing.  A
snapshot is in a folder named by the fingerprint of its pipeline; as the two libraries compute
different fingerprints, each finds its own.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, effects, errors
from tfnb.core.files.snapshot_files import Run, ShardWriter, finished_run, read_shard, shards_of
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.dataset.dataset_fingerprint import fingerprint
from tfnb.ops.dataset.dataset_iterators import (
    CapturedFunction,
    DatasetBase,
    DatasetIterator,
    EachIterator,
    ImmediateIterator,
    IteratorScope,
    as_dataset,
    check_element,
    check_signature,
    go_on_or_end,
    scalar_of,
)
from tfnb.ops.dataset.dataset_source_ops import METADATA, OUTPUTS, scalar_handle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.ops.dataset.dataset_iterators import BoundFunction, Element, type_of_next


def _path_of(path: Array) -> str:
    value: bytes = np.asarray(scalar_of(path, "path")).item()
    return value.decode("utf-8", "surrogateescape")


# ------------------------------------------------------------------------------------------- saving


class _SavingIterator(EachIterator):
    """The iterator that writes a dataset's elements; its end marks the run as complete."""

    def __init__(
        self,
        source: DatasetBase,
        scope: IteratorScope,
        run: Run,
        compression: str,
        shard_func: BoundFunction | None,
        guard: effects.Guard | None,
    ) -> None:
        super().__init__(source.make(scope))
        self._types, self._run, self._compression = source.types, run, compression
        self._shard_func, self._guard = shard_func, guard
        self._shards: dict[int, ShardWriter] = {}
        self.close = weakref.finalize(self, _close, self._shards)
        self._count = 0
        self._has_begun = self._is_over = False

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element; at the end, mark the run as complete."""
        if self._is_over:
            return None
        if not self._has_begun:
            with effects.watched_by(self._guard):
                self._run.begin()
            self._has_begun = True
        element = yield from super().get_next(ctx)
        if element is None:
            self._is_over = True
            with effects.watched_by(self._guard):
                self.close()
                self._run.finish(self._count)
        return element

    def make(self, element: Element) -> type_of_next:
        """Write the element and return it."""
        index = 0
        if self._shard_func is not None:
            index = _shard_index((yield self._shard_func.call(element)))
        with effects.watched_by(self._guard):
            writer = self._shards.get(index)
            if writer is None:
                writer = ShardWriter(self._run.path, index, self._compression)
                self._shards[index] = writer
            writer.write(element, self._types)
        self._count += 1
        return element


def _close(shards: dict[int, ShardWriter]) -> None:
    for writer in shards.values():
        writer.close()


def _shard_index(results: Sequence[Array]) -> int:
    if len(results) != 1 or np.size(results[0]) != 1 or np.asarray(results[0]).dtype != np.int64:
        raise errors.invalid_argument("`shard_func` must return a scalar int64.")
    return int(np.asarray(results[0]).item())


def _check_savable(types: Sequence[DType], op: str) -> None:
    if dtypes.variant in types or dtypes.resource in types:
        raise errors.unimplemented(
            f"{op} writes only tensors of numbers and strings. Map sparse and ragged elements, "
            "datasets and resources to tensors first."
        )


_SAVED = "input_dataset: variant, path: string, shard_func_other_args: Tshard_func_args"
_SHARD_FUNC = (
    "compression: string = ''", "shard_func: func", "use_shard_func: bool = true",
    "Tshard_func_args: list(type) >= 0",
)  # fmt: skip


def _no_outputs(c: InferenceContext) -> list[TensorShape]:
    return []


@register_op(
    "SaveDataset", f"{_SAVED} ->", *_SHARD_FUNC, stateful=True, shape=_no_outputs,
    devices=("CPU",), effects="write path",
)  # fmt: skip
def save_dataset(
    ctx: OpKernelContext,
    input_dataset: Variant,
    path: Array,
    shard_func_other_args: list[Array],
    *,
    shard_func: NameAttrList,
    compression: str = "",
    use_shard_func: bool = True,
) -> Outputs:
    """Write the elements of a dataset to the files of a folder.

    Raises:
      InvalidArgumentError: the shard of an element is not an int64.
      UnimplementedError: an element is not a tensor.
    """
    source, scope = as_dataset(input_dataset), IteratorScope(is_lasting=False)
    _check_savable(source.types, "SaveDataset")
    function = CapturedFunction(shard_func, shard_func_other_args).bound(scope)
    iterator = _SavingIterator(
        source, scope, Run(_path_of(path), source.types), compression,
        function if use_shard_func else None, effects.current_guard(),
    )  # fmt: skip
    try:
        while (yield from iterator.get_next(ctx)) is not None:
            go_on_or_end(ctx)
    finally:
        iterator.close()
    return ()


@register_op(
    "SaveDatasetV2", f"{_SAVED} -> handle: variant", *_SHARD_FUNC, *OUTPUTS, stateful=True,
    shape=scalar_handle, devices=("CPU",), effects="write path",
)  # fmt: skip
def save_dataset_v2(
    xp: Xp,
    input_dataset: Variant,
    path: Array,
    shard_func_other_args: list[Array],
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    shard_func: NameAttrList,
    compression: str = "",
    use_shard_func: bool = True,
) -> Variant:
    """Return the elements of a dataset, which are written during iteration."""
    source, folder, guard = as_dataset(input_dataset), _path_of(path), effects.current_guard()
    _check_savable(source.types, "SaveDatasetV2")
    function = CapturedFunction(shard_func, shard_func_other_args)

    def make(scope: IteratorScope) -> DatasetIterator:
        bound = function.bound(scope) if use_shard_func else None
        run = Run(folder, source.types)
        return _SavingIterator(source, scope, run, compression, bound, guard)

    return DatasetBase(output_types, output_shapes, make, source.cardinality)


# ------------------------------------------------------------------------------------------ loading


class _ShardIterator(ImmediateIterator):
    def __init__(
        self, folder: str, compression: str, size: int, guard: effects.Guard | None
    ) -> None:
        self._folder, self._compression, self._size = folder, compression, size
        self._guard = guard
        self._elements: Iterator[Element] | None = None

    def take(self, ctx: OpKernelContext) -> Element | None:
        """Return the next element of the shard."""
        with effects.watched_by(self._guard):
            if self._elements is None:
                self._elements = read_shard(self._folder, self._compression, self._size)
            return next(self._elements, None)


class _ListIterator(ImmediateIterator):
    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements, self._next = elements, 0

    def take(self, ctx: OpKernelContext) -> Element | None:
        """Return the next element of the list."""
        number, self._next = self._next, self._next + 1
        return self._elements[number] if number < len(self._elements) else None


class _LoadingIterator(DatasetIterator):
    """The iterator over the dataset that a function makes of a run's shards, given as datasets."""

    def __init__(
        self,
        run: str,
        scope: IteratorScope,
        shape: tuple[Sequence[DType], Sequence[TensorShape]],
        compression: str,
        reader_func: BoundFunction,
        guard: effects.Guard | None,
    ) -> None:
        self._run, self._scope, self._compression = run, scope, compression
        self._types, self._shapes = shape
        self._reader_func, self._guard = reader_func, guard
        self._inner: DatasetIterator | None = None

    def _shards(self) -> DatasetBase:
        with effects.watched_by(self._guard):
            folders = shards_of(self._run)
        elements = [(self._shard(folder),) for folder in folders]
        return DatasetBase(
            (dtypes.variant,), (TensorShape(()),), lambda scope: _ListIterator(elements),
            len(elements),
        )  # fmt: skip

    def _shard(self, folder: str) -> DatasetBase:
        compression, size, guard = self._compression, len(self._types), self._guard
        return DatasetBase(
            self._types,
            self._shapes,
            lambda scope: _ShardIterator(folder, compression, size, guard),
        )

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element of the dataset that the function returned."""
        if self._inner is None:
            results = yield self._reader_func.call((self._shards(),))
            if len(results) != 1 or not isinstance(results[0], DatasetBase):
                raise errors.invalid_argument(
                    "Dataset tensor must be a scalar of dtype DT_VARIANT."
                )
            given = results[0].types, results[0].shapes
            check_signature(*given, self._types, self._shapes)
            self._inner = results[0].make(self._scope)
        element = yield from self._inner.get_next(ctx)
        if element is not None:
            check_element(element, self._types, self._shapes)
        return element


@register_op(
    "LoadDataset",
    "path: string, reader_func_other_args: Treader_func_args -> handle: variant",
    *OUTPUTS, "compression: string = ''", "reader_func: func",
    "Treader_func_args: list(type) >= 0", stateful=True, shape=scalar_handle, devices=("CPU",),
    effects="read path",
)  # fmt: skip
def load_dataset(
    xp: Xp,
    path: Array,
    reader_func_other_args: list[Array],
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    reader_func: NameAttrList,
    compression: str = "",
) -> Variant:
    """Return a saved dataset's elements, in the order into which ``reader_func`` puts its shards.

    Raises:
      NotFoundError: the folder has no complete saved dataset.
      InvalidArgumentError: an element does not match the node's types and shapes.
    """
    folder, guard = _path_of(path), effects.current_guard()
    function = CapturedFunction(reader_func, reader_func_other_args)

    def make(scope: IteratorScope) -> DatasetIterator:
        with effects.watched_by(guard):
            run = finished_run(folder)
        if run is None:
            raise errors.not_found(f"Could not find metadata file [{folder}]")
        shape = output_types, output_shapes
        return _LoadingIterator(run, scope, shape, compression, function.bound(scope), guard)

    return DatasetBase(output_types, output_shapes, make)


# ---------------------------------------------------------------------------------------- snapshots


@register_op(
    "SnapshotDatasetV2",
    "input_dataset: variant, path: string, reader_func_other_args: Treader_func_args, "
    "shard_func_other_args: Tshard_func_args -> handle: variant",
    *OUTPUTS, "compression: string = ''", "reader_prefix: string = ''",
    "writer_prefix: string = ''", "hash_valid: bool = false", "hash: int = 0", "reader_func: func",
    "shard_func: func", "Treader_func_args: list(type) >= 0", "Tshard_func_args: list(type) >= 0",
    METADATA, shape=scalar_handle, devices=("CPU",), effects="read path, write path",
)  # fmt: skip
def snapshot_dataset_v2(
    ctx: OpKernelContext,
    input_dataset: Variant,
    path: Array,
    reader_func_other_args: list[Array],
    shard_func_other_args: list[Array],
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    reader_func: NameAttrList,
    shard_func: NameAttrList,
    compression: str = "",
    hash_valid: bool = False,
    hash: int = 0,
) -> Variant:
    """Return the elements of a dataset: written the first time, then read from the files.

    Raises:
      InvalidArgumentError: the shard of an element is not an int64.
      UnimplementedError: an element is not a tensor.
    """
    source, guard = as_dataset(input_dataset), effects.current_guard()
    _check_savable(source.types, "SnapshotDatasetV2")
    number = str(hash % 2**64 if hash_valid else fingerprint(ctx, source))
    folder = os.path.join(_path_of(path), number)
    kind = "SNAPPY" if compression == "AUTO" else compression
    reader = CapturedFunction(reader_func, reader_func_other_args)
    sharder = CapturedFunction(shard_func, shard_func_other_args)

    def make(scope: IteratorScope) -> DatasetIterator:
        with effects.watched_by(guard):
            run = finished_run(folder)
        if run is None:
            fresh = Run(folder, source.types, number)
            return _SavingIterator(source, scope, fresh, kind, sharder.bound(scope), guard)
        shape = output_types, output_shapes
        return _LoadingIterator(run, scope, shape, kind, reader.bound(scope), guard)

    return DatasetBase(output_types, output_shapes, make, source.cardinality)
