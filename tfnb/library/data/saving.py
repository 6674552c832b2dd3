"""Datasets in files: ``Dataset.save``, ``load`` and ``snapshot``.

The methods document results and errors.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tfnb.core import dtypes, errors
from tfnb.core.files import file_system
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.structures.structure_protos import decode_structure, encode_structure
from tfnb.library.data.attributes import flat_attrs
from tfnb.library.data.dataset import AUTOTUNE, Dataset
from tfnb.library.data.structure import DatasetSpec
from tfnb.library.data.structured_function import StructuredFunction
from tfnb.library.data.tensor_spec import TensorSpec
from tfnb.ops.dataset import dataset_snapshot_ops
from tfnb.proto import struct_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Nested

EXPORTS = {"data.experimental": ["snapshot"]}

_SPEC_FILE = "dataset_spec.pb"
_WAITING_SECONDS = 5.0


class LoadDataset(Dataset):
    """A dataset that was saved."""


class SnapshotDataset(Dataset):
    """A dataset whose elements are kept in files."""


LoadDataset.__name__, SnapshotDataset.__name__ = "_LoadDataset", "_SnapshotDataset"


def _in_turn(datasets: Dataset) -> Dataset:
    """Return an element of each dataset in turn."""
    cycle = os.cpu_count() or 1
    return datasets.interleave(lambda one: one, cycle_length=cycle, num_parallel_calls=AUTOTUNE)


def saved(
    source: Dataset, path: str, compression: str | None, shard_func: Callable[..., Nested] | None
) -> Operation:
    """Implement ``Dataset.save``."""
    function = StructuredFunction(
        (lambda *_: None) if shard_func is None else shard_func, "save()", source.element_spec
    )
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"Expected binary or unicode string, got {path!r}")
    folder = os.fsdecode(path)
    file_system.create_directories(folder)
    spec = encode_structure(source.element_spec)
    file_system.write_file(os.path.join(folder, _SPEC_FILE), spec.SerializeToString())
    op: Operation = dataset_snapshot_ops.save_dataset(
        source._variant_tensor,
        convert_to_tensor(folder, dtypes.string, name="path"),
        function.captured_inputs,
        compression=compression or "",
        shard_func=function.attr,
        use_shard_func=shard_func is not None,
    )
    return op


def loaded(
    path: str,
    element_spec: Nested,
    compression: str | None,
    reader_func: Callable[[Dataset], Dataset] | None,
    wait: bool,
) -> Dataset:
    """Implement ``Dataset.load``."""
    folder = os.fsdecode(path)
    spec_file = os.path.join(folder, _SPEC_FILE)
    while wait and not file_system.exists(spec_file):
        time.sleep(_WAITING_SECONDS)
    if element_spec is None:
        element_spec = _spec_in(spec_file)
    function = StructuredFunction(
        reader_func or _in_turn, "load()", DatasetSpec(DatasetSpec(element_spec))
    )
    variant = dataset_snapshot_ops.load_dataset(
        folder,
        function.captured_inputs,
        compression=compression or "",
        reader_func=function.attr,
        **flat_attrs(element_spec),
    )
    return LoadDataset(variant, element_spec)


def _spec_in(path: str) -> Any:
    """Return the spec of the elements of a saved dataset."""
    try:
        data = file_system.read_file(path)
    except errors.NotFoundError:
        raise errors.not_found(f"tf.data snapshot element_spec file not found: {path}.") from None
    try:
        return decode_structure(struct_pb2.StructuredValue.FromString(data))
    except (DecodeError, ValueError) as error:
        raise errors.not_found(
            f"tf.data snapshot element_spec file not found or invalid: {path}. {error}"
        ) from error


def snapshotted(
    source: Dataset,
    path: str,
    compression: str | None,
    reader_func: Callable[[Dataset], Dataset] | None,
    shard_func: Callable[..., Nested] | None,
) -> Dataset:
    """Implement ``Dataset.snapshot``."""
    if shard_func is None:
        shards = os.cpu_count() or 1
        numbered = source.enumerate()
        kept = _snapshot(numbered, path, compression, reader_func, lambda index, _: index % shards)
        return kept.map(lambda _, element: element)
    return _snapshot(source, path, compression, reader_func, shard_func)


def _snapshot(
    source: Dataset,
    path: str,
    compression: str | None,
    reader_func: Callable[[Dataset], Dataset] | None,
    shard_func: Callable[..., Nested],
) -> Dataset:
    spec = source.element_spec
    reader = StructuredFunction(
        reader_func or _in_turn, "Dataset.snapshot().reader_func", DatasetSpec(DatasetSpec(spec))
    )
    shard = StructuredFunction(shard_func, "Dataset.snapshot().shard_func", spec)
    wanted = [TensorSpec([], dtype) for dtype in (dtypes.int32, dtypes.int64)]
    found = shard.output_spec
    if not isinstance(found, TensorSpec) or not any(map(found.is_compatible_with, wanted)):
        raise TypeError(
            "Invalid `shard_func`. `shard_func` must return `tf.int64` scalar tensor but its "
            f"return type is {found}."
        )
    variant = dataset_snapshot_ops.snapshot_dataset_v2(
        source._variant_tensor,
        path,
        reader.captured_inputs,
        shard.captured_inputs,
        compression=compression or "",
        reader_func=reader.attr,
        shard_func=shard.attr,
        **flat_attrs(spec),
    )
    return SnapshotDataset(variant, spec, [source])


def snapshot(
    path: str,
    compression: str | None = "AUTO",
    reader_func: Callable[[Dataset], Dataset] | None = None,
    shard_func: Callable[..., Nested] | None = None,
) -> Callable[[Dataset], Dataset]:
    """Return ``Dataset.snapshot`` as a function for ``Dataset.apply``.

    Args:
      path: of a folder.
      compression: "AUTO", "SNAPPY", "GZIP", "ZLIB" or None.
      reader_func: makes a dataset from the dataset of the files.
      shard_func: returns the number of the file of an element.
    """

    def apply(dataset: Dataset) -> Dataset:
        return dataset.snapshot(path, compression, reader_func, shard_func)

    return apply
