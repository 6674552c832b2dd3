"""A cache file of a dataset's elements: a tensor bundle, as in checkpoints, in TensorFlow's format.

A tensor's name consists of its element's number, padded with spaces to seven characters, and its
component's number. The bundle gets its final name when an iterator reaches the end.
"""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfnb.core import dtypes, effects, errors
from tfnb.core.files.tensor_bundle import BundleReader, BundleWriter, bundle_exists
from tfnb.core.files.unfinished_files import remove_leftovers
from tfnb.ops.dataset.dataset_iterators import (
    DatasetBase,
    DatasetIterator,
    Element,
    ImmediateIterator,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.ops.dataset.dataset_iterators import IteratorScope, type_of_next


def cached_in_file(
    source: DatasetBase, prefix: str, scope: IteratorScope, guard: effects.Guard | None
) -> DatasetIterator:
    """Return an iterator that reads the file, or writes it if it does not exist yet.

    Args:
      source: the dataset.
      prefix: the prefix of the files.
      scope: the scope of the iterator.
      guard: the guard of the node that created the dataset; files are opened with it.
    """
    with effects.watched_by(guard):
        if bundle_exists(prefix):
            return _ReadingIterator(prefix, source, guard)
    return _WritingIterator(prefix, source, source.make(scope), guard)


def _key(element: int, component: int, count: int) -> str:
    return f"{element:7d}_{component:{len(str(count - 1))}d}"


class _ReadingIterator(ImmediateIterator):
    def __init__(self, prefix: str, source: DatasetBase, guard: effects.Guard | None) -> None:
        self._reader, self._guard = BundleReader(prefix), guard
        weakref.finalize(self, self._reader.close)
        self._types = source.types
        self._next = 0

    def take(self, ctx: OpKernelContext) -> Element | None:
        count, number = len(self._types), self._next
        keys = [_key(number, component, count) for component in range(count)]
        if not self._reader.contains(keys[0]):
            self._reader.close()
            return None
        self._next = number + 1
        with effects.watched_by(self._guard):
            element = tuple([self._reader.lookup(key) for key in keys])
        for component, (value, dtype) in enumerate(zip(element, self._types, strict=True)):
            if value.dtype != dtype.as_numpy_dtype:
                raise errors.invalid_argument(
                    f"Data type mismatch at component {component}: expected {dtype.name} but the "
                    f"cache {self._reader.prefix!r} has {value.dtype}. It was written by another "
                    "pipeline: delete its files, or use another name."
                )
        return element


class _WritingIterator(DatasetIterator):
    """The iterator that writes the elements of the source; at the end it renames the file."""

    def __init__(
        self,
        prefix: str,
        source: DatasetBase,
        inner: DatasetIterator,
        guard: effects.Guard | None,
    ) -> None:
        self._prefix, self._types, self._inner = prefix, source.types, inner
        self._guard = guard
        self._writer: BundleWriter | None = None
        self._abandon: weakref.finalize | None = None  # type: ignore[type-arg]
        self._count = 0
        self._is_over = False
        self._error: errors.OpError | None = None
        if dtypes.variant in source.types or dtypes.resource in source.types:
            raise errors.unimplemented(
                f"Only tensors can be kept in a file ({prefix!r}): call cache() without a file "
                "name to keep these elements in memory."
            )

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        if self._is_over:
            return None
        if self._error is not None:
            raise self._error
        if self._writer is None:
            with effects.watched_by(self._guard):
                self._writer = BundleWriter(self._prefix)
            self._abandon = weakref.finalize(self, _abandon, self._writer, self._guard)
        element = yield from self._inner.get_next(ctx)
        if element is None:
            self._is_over = True
            assert self._abandon is not None
            self._abandon.detach()
            with effects.watched_by(self._guard), self._told():
                self._writer.finish()
            if self._guard is None:
                remove_leftovers(self._prefix)
            return None
        with self._told():
            for component, (value, dtype) in enumerate(zip(element, self._types, strict=True)):
                self._writer.add(_key(self._count, component, len(element)), value, dtype)
        self._count += 1
        return element

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Remove the file if writing fails; report OutOfRange as an error, not as the end."""
        try:
            yield
        except errors.OpError as error:
            if self._abandon is not None:
                self._abandon()
            is_end = isinstance(error, errors.OutOfRangeError)
            told = errors.internal(error.message).naming(error.named_node)
            self._error = told if is_end else error
            raise self._error from None


def _abandon(writer: BundleWriter, guard: effects.Guard | None) -> None:
    with effects.watched_by(guard):
        writer.abandon()
