"""``tf.train.Saver``: writes a session's variables to checkpoints and reads them back.

:mod:`tfnb.library.training.saver_builder` makes the nodes. This module has the list of kept
checkpoints, the files beside them, and the comparison before a restore, which makes a restore all
or nothing.
"""

from __future__ import annotations

import logging
import math
import numbers
import os
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from tfnb.core import effects, errors
from tfnb.core.files import file_system
from tfnb.core.files.checkpoint_reader import CheckpointReader
from tfnb.core.files.unfinished_files import held_folder, remove_leftovers
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scope_names import prepend_name_scope, strip_name_scope
from tfnb.library.training import checkpoint_difference as difference
from tfnb.library.training import checkpoint_state, object_checkpoint
from tfnb.library.training import functions_above as above
from tfnb.library.training.global_step import global_step as read_global_step
from tfnb.library.training.saveable import all_saveable_objects
from tfnb.library.training.saver_builder import BulkSaverBuilder
from tfnb.proto import saver_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import PathLike, VariableLike

EXPORTS = {"train": ["Saver"]}

_log = logging.getLogger("tensorflow")


_MISSING = "a Variable name or other graph key that is missing"
_MISMATCH = "a mismatch between the current graph and the graph"


class Saver:
    """A saver of variables, which keeps the last few checkpoints.

    Args:
      var_list: the variables to save: a list of variables, or a dict from names in the checkpoint
        to them; None for all global variables and saveable objects.
      reshape: whether a restored tensor may have another shape with the same number of elements.
      sharded: whether every device writes a file of its own.
      max_to_keep: the number of checkpoints to keep; None or 0 for all.
      keep_checkpoint_every_n_hours: in addition, one per this number of hours is kept for ever.
      name: a name scope for the nodes.
      restore_sequentially: no effect, as in TensorFlow, because everything is read at once.
      saver_def: a message that names existing nodes, instead of making them.
      builder: makes the nodes; an object like ``BulkSaverBuilder``.
      defer_build: whether :meth:`build` makes the nodes later.
      allow_empty: whether there may be nothing to save.
      write_version: the format, a ``SaverDef.CheckpointFormatVersion``.
      pad_step_number: whether steps in names have at least eight digits.
      save_relative_paths: whether the file ``checkpoint`` has paths relative to its folder.
      filename: the default value of the path's placeholder.

    Raises:
      TypeError: ``var_list`` has another type.
      ValueError: there is nothing to save, or a name is used twice.
    """

    def __init__(
        self,
        var_list: VariableLike | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = saver_pb2.SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def: Any = saver_def
        self._builder = builder
        self._is_built = False
        self._allow_empty = allow_empty
        self._is_empty = False
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._filename = filename
        self._save_relative_paths = save_relative_paths
        # (path, when it was written), oldest first
        self._last_checkpoints: list[tuple[str, float]] = []
        self._checkpoints_to_be_deleted: list[tuple[str, float]] = []
        self._next_checkpoint_time = math.inf
        if not defer_build:
            self.build()
        if self.saver_def:
            self._check_saver_def()
            self._write_version = self.saver_def.version

    def build(self) -> None:
        """Make the nodes, unless they exist."""
        if self._is_built:
            return
        self._is_built = True
        if not self.saver_def:
            if self._builder is None:
                self._builder = BulkSaverBuilder(self._write_version)
            if self._var_list is None:
                self._var_list = all_saveable_objects()
            if not self._var_list:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            self.saver_def = self._builder.build(
                self._var_list,
                reshape=self._reshape,
                sharded=self._sharded,
                max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours,
                name=self._name,
                restore_sequentially=self._restore_sequentially,
                filename=self._filename,
            )
        elif self._name:
            # For existing nodes, the name is the scope that they were imported into.
            for field in _NODE_FIELDS:
                inside = prepend_name_scope(getattr(self.saver_def, field), self._name)
                setattr(self.saver_def, field, inside)
        self._check_saver_def()
        self._next_checkpoint_time = time.time() + self._kept_seconds

    @property
    def _kept_seconds(self) -> float:
        return float(self.saver_def.keep_checkpoint_every_n_hours) * 3600

    def _check_saver_def(self) -> None:
        if not isinstance(self.saver_def, saver_pb2.SaverDef):
            name = getattr(getattr(self.saver_def, "DESCRIPTOR", None), "full_name", None)
            if name != saver_pb2.SaverDef.DESCRIPTOR.full_name:
                raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
            self.saver_def = saver_pb2.SaverDef.FromString(self.saver_def.SerializeToString())
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    # -- the checkpoints that are kept -------------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Set the existing checkpoints without their times; the saver deletes none of them."""
        assert isinstance(last_checkpoints, list)
        self._last_checkpoints = [(path, math.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: list[tuple[str, float]]
    ) -> None:
        """Set which checkpoints exist and when they were written, oldest first."""
        assert isinstance(last_checkpoints_with_time, list)
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Take over a former run's checkpoints that still exist as this saver's."""
        found = []
        for path in checkpoint_paths:
            times = checkpoint_state.get_checkpoint_mtimes([path])
            if times:
                found.append((path, times[0]))
        self.set_last_checkpoints_with_time(found)

    def _record(self, path: str) -> None:
        if not self.saver_def.max_to_keep:
            return
        self._last_checkpoints = [one for one in self._last_checkpoints if one[0] != path]
        # An interrupt may have come before an older checkpoint of this name was deleted.
        self._checkpoints_to_be_deleted = [
            one for one in self._checkpoints_to_be_deleted if one[0] != path
        ]
        self._last_checkpoints.append((path, time.time()))
        if len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._checkpoints_to_be_deleted.append(self._last_checkpoints.pop(0))

    def _delete_old(self, meta_graph_suffix: str) -> None:
        if not self._checkpoints_to_be_deleted:
            return
        path, written = self._checkpoints_to_be_deleted.pop(0)
        if written > self._next_checkpoint_time:
            self._next_checkpoint_time += self._kept_seconds
            return
        try:
            checkpoint_state.remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
        except Exception as error:  # the new checkpoint is complete in any case
            _log.warning("Ignoring: %s", error)

    # -- messages ----------------------------------------------------------------------------------

    def as_saver_def(self) -> Any:
        """Return the message that names the nodes."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the message, with names relative to ``export_scope``; None for another scope."""
        if export_scope is None:
            return self.saver_def
        names = [getattr(self.saver_def, field) for field in _NODE_FIELDS]
        if not all(name.startswith(export_scope) for name in names):
            return None
        found = saver_pb2.SaverDef()
        found.CopyFrom(self.saver_def)
        for field, name in zip(_NODE_FIELDS, names):
            setattr(found, field, strip_name_scope(name, export_scope))
        return found

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Return a saver for existing nodes.

        Args:
          saver_def: the message that names them.
          import_scope: the scope that they were imported into.
        """
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Return the MetaGraphDef of the default graph with this saver.

        Arguments as in ``tf.train.export_meta_graph``.
        """
        return above.export_meta_graph(
            filename=filename,
            graph_def=get_default_graph().as_graph_def(add_shapes=True),
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    # -- saving ------------------------------------------------------------------------------------

    def save(
        self,
        sess: SessionLike,
        save_path: PathLike,
        global_step: VariableLike | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Save the variables of a session.

        Args:
          sess: the session.
          save_path: the prefix of the files.
          global_step: a number, or a tensor or variable that gives one, to append to the prefix.
          latest_filename: another name of the file ``checkpoint``.
          meta_graph_suffix: the extension of the MetaGraphDef's file name.
          write_meta_graph: whether to write the graph beside the checkpoint.
          write_state: whether to write the file ``checkpoint`` and delete old checkpoints.
          strip_default_attrs: whether the MetaGraphDef leaves out attributes with default values.
          save_debug_info: not used.

        Returns:
          The prefix to restore from; None if the saver is empty.

        Raises:
          TypeError: ``sess`` is no session.
          ValueError: the folder does not exist, or names collide.
          RuntimeError: the nodes were not built yet.
        """
        self._check_is_built("save")
        latest_filename = latest_filename or "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = os.fsdecode(save_path)
        if global_step is not None:
            if not isinstance(global_step, numbers.Integral):
                global_step = read_global_step(sess, global_step)
            width = 8 if self._pad_step_number else 1
            path = f"{save_path}-{global_step:0{width}d}"
        else:
            path = save_path
            if os.path.basename(save_path) == latest_filename and not self._sharded:
                raise ValueError(
                    f"'latest_filename' collides with 'save_path': '{latest_filename}' and "
                    f"'{save_path}'"
                )
        _check_is_session(sess)
        saved: str | None = None
        if not self._is_empty:
            saved = self._save_variables(sess, save_path, path)
            if write_state:
                self._record(saved)
                checkpoint_state.write_checkpoint_state(
                    os.path.dirname(save_path),
                    saved,
                    all_model_checkpoint_paths=self.last_checkpoints,
                    latest_filename=latest_filename,
                    save_relative_paths=self._save_relative_paths,
                )
                self._delete_old(meta_graph_suffix)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(
                    checkpoint_state.meta_graph_filename(path, meta_graph_suffix),
                    strip_default_attrs=strip_default_attrs,
                )
        return saved

    def _save_variables(self, sess: SessionLike, save_path: str, path: str) -> str:
        local = file_system.local_path(path)
        try:
            with held_folder(f"{local}_temp") if self._sharded else nullcontext():
                found = sess.run(
                    self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: path}
                )
        except (errors.FailedPreconditionError, errors.NotFoundError) as error:
            folder = os.path.dirname(save_path)
            if os.path.isdir(file_system.local_path(folder) or "."):
                raise
            raise ValueError(
                f"Parent directory of {save_path} doesn't exist, can't save."
            ) from error
        saved = bytes(found.item() if hasattr(found, "item") else found).decode(errors="replace")
        if not effects.is_named_by(saved, path):
            # Recorded checkpoints are deleted later: another path must not be recorded.
            raise errors.invalid_argument(
                f"The saver's node {self.saver_def.save_tensor_name!r} says that it saved to "
                f"{saved!r}, but the checkpoint is {path!r}. Nothing was recorded; build another "
                "tf.train.Saver() for this graph."
            )
        remove_leftovers(file_system.local_path(save_path))
        return saved

    def _check_is_built(self, action: str) -> None:
        if not self._is_built:
            raise RuntimeError(f"`build()` should be called before {action} if defer_build==True")

    # -- restoring ---------------------------------------------------------------------------------

    def restore(self, sess: SessionLike, save_path: Any) -> None:
        """Give the variables the values of a checkpoint: all of them, or none if one does not fit.

        Args:
          sess: the session.
          save_path: the result of :meth:`save` or of ``tf.train.latest_checkpoint``.

        Raises:
          ValueError: there is no checkpoint under the path.
          NotFoundError: the checkpoint lacks a tensor or a file; a table shows the differences.
          InvalidArgumentError: a tensor has another type or shape; a table shows the differences.
          DataLossError: the checkpoint is damaged.
          OutOfRangeError: the checkpoint is truncated.
        """
        if self._is_empty:
            return
        self._check_is_built("restore")
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fspath(save_path)
        path = path.decode() if isinstance(path, bytes) else path
        if not checkpoint_state.checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        _check_is_session(sess)
        _log.info("Restoring parameters from %s", path)
        feeds: dict[Any, Any] = {self.saver_def.filename_tensor_name: path}
        try:
            restore_op = sess.graph.get_operation_by_name(self.saver_def.restore_op_name)
        except KeyError:
            wanted = []  # run() raises: the graph is not the saver's
        else:
            wanted = difference.wanted_tensors(sess.graph, restore_op)
        # A single reading op runs before all assignments. With several, some variables may be
        # assigned already when one fails, so the values are read before.
        read_all = len({one.reader for one in wanted}) > 1
        feeds |= self._compare(path, wanted, read_all)
        try:
            # A graph from a file gets permission to read this path, and no other.
            with effects.feeding_to_read({path: None}):
                sess.run(self.saver_def.restore_op_name, feeds)
        except (errors.DataLossError, errors.OutOfRangeError, errors.NotFoundError) as error:
            self._compare(path, wanted, read_all=True)
            raise _explained(error, "") from error
        except errors.InvalidArgumentError as error:
            # Errors not caused by the checkpoint (a missing device) are raised unchanged.
            nodes = {op.name for one in wanted for op in (one.reader, one.assign) if op is not None}
            if error.node_name not in nodes:
                raise
            raise _explained(error, "") from error

    def _compare(
        self, path: str, wanted: list[difference.WantedTensor], read_all: bool
    ) -> dict[Any, Any]:
        """Reject a checkpoint that differs; return feeds with the keys of a checkpoint of objects.

        Raises:
          OpError: of the class that the step would raise.
        """
        try:
            with CheckpointReader(path) as reader:
                found = list(difference.differences(wanted, reader, read_all))
                if not found:
                    return {}
                renamed = object_checkpoint.renamed(reader, wanted)
                if renamed is not None:
                    _log.warning(
                        "Restoring an object-based checkpoint using a name-based saver. This may "
                        "be somewhat fragile, and will re-build the Saver. Instead, consider "
                        "loading object-based checkpoints using tf.train.Checkpoint()."
                    )
                    inner = list(difference.differences(renamed, reader, read_all))
                    if not inner:
                        return object_checkpoint.feeds(renamed)
                    found, wanted = inner, renamed
                text = difference.table(found, wanted, reader)
        except errors.OpError as error:
            reader_op = wanted[0].reader if wanted else None
            raise _explained(
                difference.same_class(error, reader_op, error.message),
                f"The checkpoint {path} cannot be read; nothing was restored.{_others(path)}",
            ) from None
        # Errors of readers come before errors of assignments.
        first = min(found, key=lambda row: row.error.op is not row.wanted.reader)
        raise _explained(first.error, text)


_NODE_FIELDS = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


def _check_is_session(sess: SessionLike) -> None:
    if not (hasattr(sess, "run") and hasattr(sess, "graph")):
        raise TypeError(f"'sess' must be a Session; {sess}")


def _explained(error: errors.OpError, table: str) -> errors.OpError:
    """Return the error with TensorFlow's sentence before its text, and the table after it."""
    reason = ""
    if isinstance(error, errors.NotFoundError):
        reason = _MISSING
    elif isinstance(error, errors.InvalidArgumentError):
        reason = _MISMATCH
    lines = []
    if reason:
        lines += [
            f"Restoring from checkpoint failed. This is most likely due to {reason} from the "
            "checkpoint. Please ensure that you have not altered the graph expected based on the "
            "checkpoint. Original error:",
        ]
    lines.append(error.message)
    op: Operation | None = error.op  # type: ignore[assignment]
    named = error.named_node
    if op is not None and named is None:
        lines.append(f"\t [[node {op.name}]]")
        named = op.name
    if table:
        lines.append(table)
    found = difference.same_class(error, op, "\n".join(lines)).naming(named)
    found.node_name = error.node_name or (None if op is None else op.name)
    found.names_creation = True
    return found


def _others(path: str) -> str:
    """Return the other checkpoints beside one that cannot be read."""
    try:
        state = checkpoint_state.get_checkpoint_state(os.path.dirname(path))
    except ValueError:
        return ""
    if state is None:
        return ""
    others = [
        one
        for one in state.all_model_checkpoint_paths
        if os.path.abspath(one) != os.path.abspath(path)
    ]
    others = [one for one in others if checkpoint_state.checkpoint_exists(one)]
    return f" Beside it lies {others[-1]}." if others else ""
