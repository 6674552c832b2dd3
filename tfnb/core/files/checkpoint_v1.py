"""Checkpoints of the first format: one table file of tensor slices.

The file is a sorted table (:mod:`tfnb.core.files.leveldb_table`). The empty key holds the list of
all tensors with dtype, shape and slices; a key made of a name and a slice holds the elements of
that slice, as the typed list of a TensorProto. Several files, matched by a pattern, may make up one
checkpoint.
Corresponds to ``tensor_slice_writer.cc`` and ``tensor_slice_reader.cc``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from google.protobuf.message import DecodeError

from tfnb.core import dtypes, errors, host_memory
from tfnb.core.files import file_system, leveldb_table
from tfnb.core.files.tensor_slice import FULL, TensorSlice, can_cover, slice_key
from tfnb.core.tensor_proto import add_listed, decode_tensor, shape_from_proto, shape_to_proto
from tfnb.core.tensor_shape import TensorShape
from tfnb.proto import saved_tensor_slice_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tfnb.core.dtypes import DType

    Array = NDArray[Any]

_META_KEY: Final = b""
_VERSION: Final = 1


class TensorSliceWriter:
    """The slices of one file; nothing is written before :meth:`finish`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._tensors: dict[str, Any] = {}
        self._rows: dict[bytes, bytes] = {}

    def add(
        self, name: str, shape: tuple[int, ...], where: TensorSlice, value: Any, dtype: DType
    ) -> None:
        """Add one slice of a tensor of the given whole shape.

        Raises:
          InvalidArgumentError: slices of one tensor disagree, or a slice was added before.
        """
        entry = self._tensors.get(name)
        if entry is None:
            entry = saved_tensor_slice_pb2.SavedSliceMeta(name=name)
            entry.type = dtype.as_datatype_enum  # type: ignore[assignment]
            entry.shape.CopyFrom(shape_to_proto(TensorShape(list(shape))))
            self._tensors[name] = entry
        elif tuple(dim.size for dim in entry.shape.dim) != shape:
            raise errors.internal(f"Mismatching shapes: existing tensor of {name} and new one")
        elif entry.type != dtype.as_datatype_enum:
            raise errors.internal(f"Mismatching types: existing tensor of {name} and new one")
        key = slice_key(name, where)
        if key in self._rows:
            raise errors.invalid_argument(f"Slice {where} of tensor {name} was added twice")
        _set_slice(entry.slice.add(), where)
        record = saved_tensor_slice_pb2.SavedTensorSlices()
        record.data.name = name
        _set_slice(record.data.slice, where)
        add_listed(record.data.data, np.asarray(value), dtype)
        self._rows[key] = record.SerializeToString()

    def finish(self) -> None:
        """Write the file."""
        record = saved_tensor_slice_pb2.SavedTensorSlices()
        record.meta.tensor.extend(self._tensors.values())
        record.meta.versions.producer = _VERSION
        rows = [(_META_KEY, record.SerializeToString()), *sorted(self._rows.items())]
        file_system.write_part(self._path, leveldb_table.build_table(rows), self._path)


def _set_slice(proto: Any, where: TensorSlice) -> None:
    for start, length in where.extents:
        extent = proto.extent.add()
        if length != FULL:
            extent.start, extent.length = start, length


def _slice_of(proto: Any) -> TensorSlice:
    return TensorSlice(
        tuple((e.start, e.length if e.HasField("length") else FULL) for e in proto.extent)
    )


class TensorSliceReader:
    """The tensors of all files that match a pattern.

    Raises:
      NotFoundError: no file matches.
      DataLossError: a file is no checkpoint of this format.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        paths = file_system.matching_files(pattern)
        if not paths:
            raise errors.not_found(
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                f"for {pattern}"
            )
        # name -> (dtype, shape, slice -> rows and key of the slice)
        self._tensors: dict[
            str,
            tuple[DType, tuple[int, ...], dict[TensorSlice, tuple[Mapping[bytes, bytes], bytes]]],
        ] = {}
        for path in paths:
            self._load(path)

    def _load(self, path: str) -> None:
        try:
            rows = dict(leveldb_table.read_table(file_system.read_file(path, self.pattern)))
            meta = saved_tensor_slice_pb2.SavedTensorSlices.FromString(rows[_META_KEY]).meta
        except errors.DataLossError as error:
            raise errors.data_loss(
                f"Unable to open table file {path}: {error.message}: perhaps your file is in a "
                "different file format and you need to use a different restore operator?"
            ) from None
        except (errors.PermissionDeniedError, errors.ResourceExhaustedError):
            raise
        except Exception as error:
            raise errors.data_loss(f"{path} has no list of tensors: {error}") from None
        if meta.versions.min_consumer > _VERSION:
            raise errors.invalid_argument(
                f"Checkpoint {path} needs a reader of version {meta.versions.min_consumer}; this "
                f"one has version {_VERSION}."
            )
        for tensor in meta.tensor:
            try:
                dtype = dtypes.as_dtype(tensor.type)
                shape = tuple(int(size or 0) for size in shape_from_proto(tensor.shape).as_list())
            except (TypeError, ValueError) as error:
                raise errors.data_loss(
                    f"{path} has no valid type or shape of tensor {tensor.name}: {error}"
                ) from None
            known = self._tensors.setdefault(tensor.name, (dtype, shape, {}))
            if known[:2] != (dtype, shape):
                raise errors.internal(f"Incompatible tensor shapes or types for {tensor.name}")
            for proto in tensor.slice:
                where = _slice_of(proto)
                known[2][where] = (rows, slice_key(tensor.name, where))

    def names(self) -> Iterator[str]:
        """Return the names of all tensors, sorted."""
        return iter(sorted(self._tensors))

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], DType]:
        """Return the shape and dtype of a tensor without reading it.

        Raises:
          NotFoundError: the tensor does not exist.
        """
        found = self._tensors.get(name)
        if found is None:
            raise errors.not_found(
                f'Tensor name "{name}" not found in checkpoint files {self.pattern}'
            )
        return found[1], found[0]

    def lookup_slice(self, name: str, where: TensorSlice) -> Array:
        """Return a part of a tensor, put together from the slices it was saved in.

        Raises:
          NotFoundError: the tensor does not exist, or no slices that cover the part.
        """
        shape, dtype = self.shape_and_dtype(name)
        wanted = where.shape_in(shape)
        lacks = errors.not_found(
            f"The slices of tensor {name} in {self.pattern} do not cover {where}"
        )
        if not can_cover(where, self._tensors[name][2], shape):
            raise lacks
        host_memory.check_size(math.prod(wanted) * (dtype.size or 1))
        out = np.empty(wanted, dtype.numpy_dtype)
        missing = np.ones(out.shape, bool)
        for stored, (rows, key) in self._tensors[name][2].items():
            common = where.overlap(stored, shape)
            if common is not None:
                mine, theirs = common
                out[mine] = _decoded(rows, key, stored.shape_in(shape), dtype, name)[theirs]
                missing[mine] = False
        if missing.any():
            raise lacks
        return out


def _decoded(
    rows: Mapping[bytes, bytes], key: bytes, shape: tuple[int, ...], dtype: DType, name: str
) -> Array:
    if key not in rows:
        raise errors.data_loss(f"A listed slice of tensor {name} is not in its file")
    try:
        data = saved_tensor_slice_pb2.SavedTensorSlices.FromString(rows[key]).data.data
    except DecodeError:
        raise errors.data_loss(f"A slice of tensor {name} cannot be parsed") from None
    data.dtype = dtype.as_datatype_enum  # type: ignore[assignment]
    data.tensor_shape.CopyFrom(shape_to_proto(TensorShape(list(shape))))
    return decode_tensor(data)
