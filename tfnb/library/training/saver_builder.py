"""The nodes that save and restore: ``save/SaveV2``, ``save/RestoreV2``, ``save/Assign``.

Node names are those of TensorFlow, because graphs are exchanged with these nodes in them and a
``SaverDef`` names three of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tfnb.core.device_spec import canonical_name
from tfnb.framework.scopes import control_dependencies, device, name_scope
from tfnb.library.control_flow.control_flow import group
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.library.training.saveable import (
    SaveableObject,
    operations_of,
    set_cpu0,
    validate_and_slice_inputs,
)
from tfnb.ops.array.constant_ops import constant, placeholder_with_default
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import shape
from tfnb.ops.io import io_ops, io_v1_ops
from tfnb.proto import saver_pb2

if TYPE_CHECKING:
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, PathLike, TensorLike, TensorResult

PerDevice = list[tuple[str, list[SaveableObject]]]


class BulkSaverBuilder:
    """A builder of a saver's nodes; one op reads all tensors of a checkpoint.

    Args:
      write_version: the format to write, a ``SaverDef.CheckpointFormatVersion``.
    """

    def __init__(self, write_version: int = saver_pb2.SaverDef.V2) -> None:
        self._write_version = write_version

    def build(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str | None = "model",
        build_save: bool = True,
        build_restore: bool = True,
    ) -> saver_pb2.SaverDef:
        """Add the nodes to the default graph.

        Args:
          names_to_saveables: name -> variable or saveable, or a list of them.
          reshape: whether a tensor may be restored to another shape with as many elements.
          sharded: whether every device writes a file of its own.
          max_to_keep: the number of checkpoints to keep; None or 0 for all.
          keep_checkpoint_every_n_hours: the interval at which one checkpoint is kept for ever.
          name: a name scope; ``"save"`` if None.
          restore_sequentially: no effect, as in TensorFlow, because one op reads everything.
          filename: the default of the path's placeholder.
          build_save: whether to add the saving nodes.
          build_restore: whether to add the restoring nodes.

        Returns:
          The SaverDef, which names the nodes.
        """
        saveables = validate_and_slice_inputs(names_to_saveables)
        if max_to_keep is None:
            max_to_keep = 0
        save_tensor: Tensor | None = None
        restore_op: Operation | None = None
        with name_scope(name, "save", operations_of(saveables)):
            path = placeholder_with_default(filename or "model", shape=(), name="filename")
            path = placeholder_with_default(path, shape=(), name="Const")
            if sharded:
                per_device = _by_device(saveables)
                if build_save:
                    save_tensor = self._add_sharded_save(path, per_device)
                if build_restore:
                    restore_op = self._add_sharded_restore(path, per_device, reshape)
            else:
                if build_save:
                    save_tensor = self._add_save(path, saveables)
                if build_restore:
                    restore_op = self._add_restore(path, saveables, reshape)
        return saver_pb2.SaverDef(
            filename_tensor_name=path.name,
            save_tensor_name="" if save_tensor is None else save_tensor.name,
            restore_op_name="" if restore_op is None else restore_op.name,
            max_to_keep=max_to_keep,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,  # type: ignore[arg-type]
        )

    # -- saving ------------------------------------------------------------------------------------

    def _add_save(self, path: PathLike, saveables: list[SaveableObject]) -> TensorResult:
        names, specs, tensors = _flattened(saveables, with_tensors=True)
        if self._write_version == saver_pb2.SaverDef.V2:
            save = io_ops.save_v2(path, names, specs, tensors)
        else:
            save = io_v1_ops.save_slices(path, names, specs, tensors, name="save")
        return with_dependencies([save], path)

    def _add_sharded_save(self, path: PathLike, per_device: PerDevice) -> TensorResult:
        if self._write_version == saver_pb2.SaverDef.V2:
            return self._add_sharded_save_v2(path, per_device)
        count = constant(len(per_device), name="num_shards")
        saves = []
        for shard, (where, saveables) in enumerate(per_device):
            with device(where):
                shard_path = io_ops.sharded_filename(path, shard, count)
                saves.append(self._add_save(shard_path, saveables))
        with control_dependencies([save.op for save in saves]):
            return io_ops.sharded_filespec(path, count)

    def _add_sharded_save_v2(self, path: PathLike, per_device: PerDevice) -> TensorResult:
        # Shards are written beside the final files, then merged, so that an incomplete checkpoint
        # is never visible.
        from tfnb.ops.array.where_ops import where as select
        from tfnb.ops.strings.regex_ops import regex_full_match
        from tfnb.ops.strings.string_join_ops import string_join

        with device("CPU"):
            suffix = select(
                regex_full_match(path, "^s3://.*"),
                constant(".part"),
                constant(os.path.normpath("_temp/part")),
            )
            temporary = string_join([path, suffix])
        count = constant(len(per_device), name="num_shards")
        prefixes, saves = [], []
        for shard, (where, saveables) in enumerate(per_device):
            with device(set_cpu0(where)):
                prefixes.append(io_ops.sharded_filename(temporary, shard, count))
                saves.append(self._add_save(prefixes[-1], saveables))
        with control_dependencies([save.op for save in saves]):
            with device(set_cpu0(per_device[-1][0])):
                merge = io_ops.merge_v2_checkpoints(prefixes, path, delete_old_dirs=True)
                with control_dependencies([merge]):
                    return identity(path)

    # -- restoring ---------------------------------------------------------------------------------

    def _add_sharded_restore(
        self, path: PathLike, per_device: PerDevice, reshape: bool
    ) -> Operation:
        restores = []
        for where, saveables in per_device:
            with device(where):
                restores.append(self._add_restore(path, saveables, reshape, name="restore_shard"))
        return group(*restores, name="restore_all")

    def _add_restore(
        self,
        path: PathLike,
        saveables: list[SaveableObject],
        reshape: bool,
        name: str = "restore_all",
    ) -> Operation:
        values = self._read(path, saveables)
        assigns: list[Any] = []
        for saveable in saveables:
            shapes = [_shape_of(spec.tensor) for spec in saveable.specs] if reshape else None
            count = len(saveable.specs)
            assigns.append(saveable.restore(values[:count], shapes))
            values = values[count:]
        return group(*assigns, name=name)

    def _read(self, path: PathLike, saveables: list[SaveableObject]) -> list[TensorResult]:
        names, specs, _ = _flattened(saveables, with_tensors=False)
        types = [spec.dtype for saveable in saveables for spec in saveable.specs]
        with device("CPU:0"):
            found: list[TensorLike] = list(
                io_ops.restore_v2(path, names, specs, [dtype.base_dtype for dtype in types])
            )
        return found


def _flattened(
    saveables: list[SaveableObject], with_tensors: bool
) -> tuple[list[str], list[str], list[Nested]]:
    specs = [spec for saveable in saveables for spec in saveable.specs]
    tensors = [spec.tensor for spec in specs] if with_tensors else []
    return [spec.name for spec in specs], [spec.slice_spec for spec in specs], tensors


def _shape_of(tensor: TensorLike) -> Any:
    static = tensor.get_shape()
    return static if static.is_fully_defined() else shape(tensor)


def _by_device(saveables: list[SaveableObject]) -> PerDevice:
    found: dict[str, list[SaveableObject]] = {}
    for saveable in saveables:
        devices = {canonical_name(spec.device) for spec in saveable.specs}
        if len(devices) != 1:
            raise ValueError(
                f"All tensors of a saveable object must be on the same device: {saveable.name}"
            )
        found.setdefault(devices.pop(), []).append(saveable)
    return sorted(found.items())
