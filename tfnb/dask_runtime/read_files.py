"""Files as Dask collections: ``.npy`` files as an Array, TFRecord files as a Bag."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.files.tf_record import read_records
from tfnb.dask_runtime.dask_import import import_dask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BYTES_OF_A_BLOCK = 32 * 2**20


def collection_of_files(paths: Any) -> Any:
    """Return a collection of the contents of files, which the workers read.

    Args:
      paths: paths, or one path or pattern.

    Raises:
      ValueError: there is no file, or the arrays differ in type or in the shape of their rows.
      TypeError: the files are of different kinds, or of none that can be read.
    """
    if isinstance(paths, (str, os.PathLike)):
        found = sorted(glob.glob(os.fspath(paths)))
        if not found:
            raise ValueError(f"There is no file {os.fspath(paths)}.")
    else:
        found = [os.fspath(one) for one in paths]
        if not found:
            raise ValueError("The list of files is empty.")
    names = [os.path.basename(one) for one in found]
    if all(name.endswith(".npy") for name in names):
        return _array_of(found)
    if all(".tfrecord" in name for name in names):
        bag = import_dask("dask.bag")
        return bag.from_sequence(found, npartitions=len(found)).map_partitions(_records)
    raise TypeError(
        f"Files must all be .npy or all .tfrecord, not {names[0]} and others. Read other files "
        "with dask.bag or dask.dataframe, and map the collection."
    )


def _array_of(paths: Sequence[str]) -> Any:
    array = import_dask("dask.array")
    tokenize = import_dask("dask.base").tokenize
    tasks: list[tuple[Any, ...]] = []
    rows: list[int] = []
    first: Any = None
    for path in paths:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if not found.ndim:
            raise ValueError(f"{path} holds a scalar; it has no rows.")
        if first is None:
            first = found
        elif (found.dtype, found.shape[1:]) != (first.dtype, first.shape[1:]):
            raise ValueError(
                f"{path} has rows {found.dtype} {found.shape[1:]}; those of {paths[0]} are "
                f"{first.dtype} {first.shape[1:]}."
            )
        row_bytes = max(1, found.dtype.itemsize * int(np.prod(found.shape[1:])))
        size = max(1, BYTES_OF_A_BLOCK // row_bytes)
        for begin in range(0, len(found), size):
            end = min(begin + size, len(found))
            tasks.append((_rows, path, begin, end))
            rows.append(end - begin)
    if not rows:
        return array.empty(first.shape, dtype=first.dtype)
    versions = [(os.fspath(path), os.stat(path).st_mtime_ns) for path in paths]
    name = f"npy-files-{tokenize(versions)}"
    rest = (0,) * (first.ndim - 1)
    layer = {(name, number, *rest): task for number, task in enumerate(tasks)}
    chunks = (tuple(rows), *((size,) for size in first.shape[1:]))
    return array.Array(layer, name, chunks, dtype=first.dtype)


def _rows(path: str, begin: int, end: int) -> Any:
    """Return rows of a file; only these are read."""
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[begin:end])


def _records(paths: Sequence[str]) -> Iterator[bytes]:
    """Yield the records of files, one after the other."""
    for path in paths:
        with open(path, "rb") as file:
            for _, record in read_records(file):
                yield record
