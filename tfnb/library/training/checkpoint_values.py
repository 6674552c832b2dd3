"""Reading values of checkpoints: ``tf.train.list_variables``, ``load_variable``, and the reader."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from tfnb.core.files import checkpoint_reader
from tfnb.library.training.checkpoint_state import latest_checkpoint

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import PathLike, VariableLike

EXPORTS = {"train": ["NewCheckpointReader", "list_variables", "load_checkpoint", "load_variable"]}


class CheckpointReader:
    """A reader of tensors by name, for checkpoints of both formats.

    Args:
      filepattern: the prefix of the checkpoint.

    Raises:
      NotFoundError: there is no checkpoint.
      DataLossError: its list of tensors is damaged.
    """

    def __init__(self, filepattern: str | bytes) -> None:
        # Its list of tensors is read once; no file stays open between two calls.
        self._reader = checkpoint_reader.CheckpointReader(os.fsdecode(filepattern))
        self._lock = threading.Lock()
        with self._reader as reader:
            self._stored = {name: reader.shape_and_dtype(name) for name in reader.names()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether there is a tensor of this name."""
        return tensor_str in self._stored

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return name -> shape."""
        return {name: list(shape) for name, (shape, _) in self._stored.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return name -> type."""
        return {name: dtype for name, (_, dtype) in self._stored.items()}

    def get_tensor(self, tensor_str: str) -> Any:
        """Return the value of a tensor.

        Raises:
          NotFoundError: the checkpoint lacks the tensor.
          DataLossError: its bytes are damaged.
        """
        if not isinstance(tensor_str, str):
            raise TypeError(f"Expected binary or unicode string, got {tensor_str}")
        with self._lock, self._reader as reader:
            value = reader.lookup(tensor_str)
        # A scalar string is returned as the string.
        return value.item() if value.ndim == 0 and value.dtype == object else value

    def debug_string(self) -> bytes:
        """Return all tensors with type and shape, one per line."""
        return "".join(
            f"{name} ({_name_of_type(dtype)}) [{','.join(map(str, shape))}]\n"
            for name, (shape, dtype) in sorted(self._stored.items())
        ).encode()


def _name_of_type(dtype: DType) -> str:
    """Return the enumerator's name of a type, for example ``DT_FLOAT``."""
    from tfnb.proto import types_pb2

    return types_pb2.DataType.Name(dtype.as_datatype_enum)  # type: ignore[arg-type]


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """Return a reader of the checkpoint with a prefix."""
    return CheckpointReader(filepattern)


def checkpoint_path_of(ckpt_dir_or_file: PathLike) -> str | None:
    """Return the prefix of a checkpoint, or that of a folder's last one."""
    path = os.fsdecode(ckpt_dir_or_file)
    return latest_checkpoint(path) if os.path.isdir(path) else path


def load_checkpoint(ckpt_dir_or_file: PathLike) -> CheckpointReader:
    """Return a reader of a checkpoint, or of a folder's last one.

    Raises:
      ValueError: the folder has none.
    """
    path = checkpoint_path_of(ckpt_dir_or_file)
    if path is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}"
        )
    return CheckpointReader(path)


def load_variable(ckpt_dir_or_file: PathLike, name: str) -> VariableLike:
    """Return the value of a variable in a checkpoint, or in a folder's last one."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: PathLike) -> list[tuple[str, list[int]]]:
    """Return (name, shape) of all variables in a checkpoint, or in a folder's last one."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
