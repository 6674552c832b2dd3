"""Reading a checkpoint of either format by name.

Corresponds to ``checkpoint_reader.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.core.files.tensor_bundle import BundleReader, bundle_exists
from tfnb.core.files.tensor_slice import TensorSlice
from tfnb.core.process.later import later

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfnb.core import node_text
    from tfnb.core.dtypes import DType
    from tfnb.core.files import checkpoint_v1
else:
    checkpoint_v1 = later("tfnb.core.files.checkpoint_v1", in_step=True)
    node_text = later("tfnb.core.node_text", in_step=True)


class CheckpointReader:
    """The tensors of one checkpoint.

    Args:
      prefix: the prefix of the second format, or the path or pattern of the first.

    Raises:
      NotFoundError: there is no checkpoint.
      DataLossError: its list of tensors is damaged.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._bundle: BundleReader | None = None
        self._v1: checkpoint_v1.TensorSliceReader | None = None
        if bundle_exists(file_system.local_path(prefix)):
            self._bundle = BundleReader(prefix)
        else:
            self._v1 = checkpoint_v1.TensorSliceReader(prefix)

    def __enter__(self) -> Self:
        """Return the reader; leaving the block closes the files."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the files."""
        self.close()

    def close(self) -> None:
        """Close the files."""
        if self._bundle is not None:
            self._bundle.close()

    def names(self) -> Iterator[str]:
        """Return the names of all tensors."""
        if self._bundle is not None:
            return self._bundle.names()
        assert self._v1 is not None
        return self._v1.names()

    def has_tensor(self, name: str) -> bool:
        """Return whether there is a tensor of this name."""
        if self._bundle is not None:
            return self._bundle.contains(name)
        assert self._v1 is not None
        return name in self._v1.names()

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], DType]:
        """Return the shape and dtype of a tensor without reading it.

        Raises:
          NotFoundError: the tensor does not exist.
        """
        if self._bundle is not None:
            entry = self._bundle.entry(name)
            return tuple(entry.shape), entry.dtype
        assert self._v1 is not None
        return self._v1.shape_and_dtype(name)

    def lookup(self, name: str, where: TensorSlice | None = None) -> Any:
        """Return a tensor, or a part of it.

        Raises:
          NotFoundError: the tensor does not exist.
          DataLossError: its bytes are damaged.
        """
        if self._bundle is not None:
            return (
                self._bundle.lookup(name)
                if where is None
                else self._bundle.lookup_slice(name, where)
            )
        assert self._v1 is not None
        shape, _ = self._v1.shape_and_dtype(name)
        return self._v1.lookup_slice(name, where or TensorSlice.full(len(shape)))

    def restore(
        self, name: str, shape: tuple[int, ...] | None, where: TensorSlice | None, dtype: DType
    ) -> Any:
        """Return a tensor or a part of it, with its type and, for a part, its whole shape checked.

        Raises:
          NotFoundError: the tensor does not exist.
          InvalidArgumentError: it has another type or shape.
          DataLossError: its bytes are damaged.
        """
        stored_shape, stored = self.shape_and_dtype(name)
        if stored is not dtype:
            raise errors.invalid_argument(
                f"tensor_name = {name}; expected dtype {node_text.type_word(dtype)} does not equal "
                f"original dtype {node_text.type_word(stored)}"
            )
        if shape is not None and stored_shape != tuple(shape):
            raise errors.invalid_argument(
                f"tensor_name = {name}; shape in shape_and_slice spec {_text(shape)} does not "
                f"match the shape stored in checkpoint: {_text(stored_shape)}"
            )
        return self.lookup(name, where)


def _text(shape: Iterable[int]) -> str:
    return str(list(shape)).replace(" ", "")
