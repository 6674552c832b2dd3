"""A dataset's elements in a file: a bundle of tensors, as checkpoints are, in TensorFlow's form.

A tensor's name is the number of its element, filled up with spaces to seven characters, and that of
its component. The bundle has its name once somebody has gone through all elements.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from tfnb.core import dtypes, errors
from tfnb.core.tensor_bundle import BundleReader, BundleWriter, bundle_exists
from tfnb.ops.dataset_iterators import Dataset, DatasetIterator, Element, ImmediateIterator

if TYPE_CHECKING:
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.ops.dataset_iterators import IteratorScope, type_of_next


def cached_in_file(source: Dataset, prefix: str, scope: IteratorScope) -> DatasetIterator:
    """An iterator over what the file holds, or, where there is none yet, one that writes it."""
    if bundle_exists(prefix):
        return _ReadingIterator(prefix, source)
    return _WritingIterator(prefix, source, source.make(scope))


def _key(element: int, component: int, count: int) -> str:
    return f"{element:7d}_{component:{len(str(count - 1))}d}"


class _ReadingIterator(ImmediateIterator):
    def __init__(self, prefix: str, source: Dataset) -> None:
        self._reader = BundleReader(prefix)
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
        element = tuple([self._reader.lookup(key) for key in keys])
        for component, (value, dtype) in enumerate(zip(element, self._types, strict=True)):
            if value.dtype != dtype.as_numpy_dtype:
                raise errors.invalid_argument(
                    f"Data type mismatch at component {component}: expected {dtype.name} but the "
                    f"cache {self._reader.prefix!r} has {value.dtype}. It was written by another "
                    "pipeline: delete its files, or give another name."
                )
        return element


class _WritingIterator(DatasetIterator):
    """Goes through the source and writes what comes; the end gives the file its name."""

    def __init__(self, prefix: str, source: Dataset, inner: DatasetIterator) -> None:
        self._prefix, self._types, self._inner = prefix, source.types, inner
        self._writer: BundleWriter | None = None
        self._abandon: weakref.finalize | None = None  # type: ignore[type-arg]
        self._count = 0
        self._is_over = False
        if dtypes.variant in source.types or dtypes.resource in source.types:
            raise errors.unimplemented(
                f"Only tensors can be kept in a file ({prefix!r}): leave the file name of cache() "
                "out to keep these elements in memory."
            )

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        if self._is_over:
            return None
        if self._writer is None:
            self._writer = BundleWriter(self._prefix)
            self._abandon = weakref.finalize(self, self._writer.abandon)
        element = yield from self._inner.get_next(ctx)
        if element is None:
            self._is_over = True
            assert self._abandon is not None
            self._abandon.detach()
            self._writer.finish()
            return None
        for component, (value, dtype) in enumerate(zip(element, self._types, strict=True)):
            self._writer.add(_key(self._count, component, len(element)), value, dtype)
        self._count += 1
        return element
