"""``tf.train.Checkpoint``: saves objects by the paths of attributes, not by the names of nodes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors
from tfnb.core.files import file_system
from tfnb.core.files.checkpoint_reader import CheckpointReader
from tfnb.framework.default_session import get_default_session
from tfnb.framework.operation import Operation
from tfnb.framework.scopes import device
from tfnb.library.training import checkpoint_state
from tfnb.library.training.saveable import SaveableObject, SaveSpec
from tfnb.library.training.saver import Saver
from tfnb.library.training.trackable import OBJECT_GRAPH_KEY, is_trackable, match, object_graph
from tfnb.library.variables.variables import Variable
from tfnb.ops.array.constant_ops import constant
from tfnb.proto import saved_object_graph_pb2

if TYPE_CHECKING:
    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.tensor_types import PathLike, TensorLike, TensorResult, VariableLike
    from tfnb.library.training.trackable import Match, ObjectGraph

EXPORTS = {"train": ["Checkpoint"]}


def _session(given: Any) -> Any:
    session = given if given is not None else get_default_session()
    if session is None:
        raise RuntimeError(
            "Saving and restoring needs a session: give it, or use `with session.as_default():`"
        )
    return session


def _saveables(values: dict[str, Any]) -> dict[str, Any]:
    """Return the saver's objects for the values of keys: variables, and saveables of tables."""
    return {
        key: one if isinstance(one, Variable) else one.object_saveable(key)
        for key, one in values.items()
    }


class _ObjectGraphSaveable(SaveableObject):
    """The message that assigns each value to an object."""

    def __init__(self, text: bytes) -> None:
        with device("/cpu:0"):
            tensor = constant(text, dtype=dtypes.string)
        super().__init__(tensor, [SaveSpec(tensor, "", OBJECT_GRAPH_KEY)], OBJECT_GRAPH_KEY)

    def restore(
        self, restored_tensors: list[TensorLike], restored_shapes: list[TensorLike] | None
    ) -> TensorResult:
        """Raise: the graph of objects is not restored."""
        raise errors.internal("the graph of objects is not restored")


class Checkpoint:
    """Variables and the objects that contain them, saved together.

    Args:
      **kwargs: variables, optimizers, layers, tables, other checkpoints, lists and dicts of these,
        and objects with a method ``_trackable_children`` that returns (name, object) pairs; they
        become attributes.

    Raises:
      ValueError: an argument is none of these.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._save_counter: Any = None
        self._savers: dict[Any, Saver] = {}
        self._increment: Any = None
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from "
                    f"`Trackable`), got {value}: a variable, optimizer, layer, table, checkpoint, "
                    "or a list or dict of these."
                )
            setattr(self, name, value)

    def _trackable_children(self) -> list[tuple[str, Any]]:
        own = [(n, v) for n, v in vars(self).items() if not n.startswith("_") and is_trackable(v)]
        if self._save_counter is not None:
            own.append(("save_counter", self._save_counter))
        return own

    @property
    def save_counter(self) -> VariableLike:
        """A variable that counts calls of :meth:`save`; made at the first access."""
        if self._save_counter is None:
            with device("/cpu:0"):
                self._save_counter = Variable(
                    0, name="save_counter", dtype=dtypes.int64, trainable=False, use_resource=True
                )
        return self._save_counter

    def write(
        self, file_prefix: Any, session: SessionLike | None = None, options: Any = None
    ) -> str:
        """Save, without a change of the checkpoint's number or of the file ``checkpoint``.

        Args:
          file_prefix: the prefix of the files.
          session: the session; the default one if None.
          options: not used.

        Returns:
          The prefix to restore from.
        """
        session, prefix = _session(session), os.fspath(file_prefix)
        graph = object_graph(self)
        variables = graph.keys()
        text = graph.to_proto().SerializeToString(deterministic=True)
        key = (text, *((name, id(variable)) for name, variable in variables.items()))
        with session.graph.as_default():
            if key not in self._savers:
                saveables = {OBJECT_GRAPH_KEY: _ObjectGraphSaveable(text)}
                self._savers[key] = _SaverOfObjects(_saveables(variables) | saveables)
        file_system.create_directories(os.path.dirname(prefix))
        saved = self._savers[key].save(session, prefix, write_meta_graph=False, write_state=False)
        assert saved is not None
        return saved

    def save(
        self, file_prefix: Any, session: SessionLike | None = None, options: Any = None
    ) -> str:
        """Save under the next number, and record the checkpoint in the file ``checkpoint``.

        Args:
          file_prefix: the prefix of the files; ``-1``, ``-2``, ... are appended.
          session: the session; the default one if None.
          options: not used.

        Returns:
          The prefix to restore from.
        """
        session, prefix = _session(session), os.fspath(file_prefix)
        with session.graph.as_default():
            if self._save_counter is None:
                session.run(self.save_counter.initializer)
            if self._increment is None:
                self._increment = self.save_counter.assign_add(1, read_value=True)
        path = self.write(f"{prefix}-{session.run(self._increment)}", session)
        checkpoint_state.write_checkpoint_state(
            os.path.dirname(prefix),
            path,
            all_model_checkpoint_paths=[path],
            save_relative_paths=True,
        )
        return path

    def restore(self, save_path: PathLike) -> LoadStatus:
        """Match the values of a checkpoint to the objects.

        Args:
          save_path: the result of :meth:`save`, or the prefix of a checkpoint of a ``Saver``; None
            for no checkpoint, after which :meth:`LoadStatus.initialize_or_restore` initializes.

        Returns:
          An object whose methods restore in a session, and raise if something does not match.

        Raises:
          NotFoundError: the checkpoint does not exist.
          DataLossError: its list of tensors is damaged.
        """
        if save_path is None:
            return LoadStatus(self, None, None)
        path = os.fspath(save_path)
        proto = None
        with CheckpointReader(path) as reader:
            if reader.has_tensor(OBJECT_GRAPH_KEY):
                text = reader.lookup(OBJECT_GRAPH_KEY).item()
                proto = saved_object_graph_pb2.TrackableObjectGraph.FromString(text)
        _ = self.save_counter
        return LoadStatus(self, path, proto)

    read = restore


class _SaverOfObjects(Saver):
    """A saver without restoring nodes and without a list of checkpoints."""

    def __init__(self, names_to_saveables: dict[str, Any]) -> None:
        from tfnb.library.training.saver_builder import BulkSaverBuilder

        definition = BulkSaverBuilder().build(
            names_to_saveables, max_to_keep=0, build_restore=False
        )
        # A saver requires the name of a restoring op; that of this saver is never run.
        definition.restore_op_name = definition.save_tensor_name.partition(":")[0]
        super().__init__(saver_def=definition)


class LoadStatus:
    """The match between a checkpoint and objects, and the methods that restore.

    Objects that are made later are found, too, until something is restored.
    """

    def __init__(self, root: Checkpoint, path: str | None, proto: Any) -> None:
        self._root = root
        self._path = path
        self._proto = proto

    def _found(self) -> tuple[ObjectGraph, Match]:
        if self._path is None:
            raise AssertionError(
                "No checkpoint specified (save_path=None); nothing is being restored."
            )
        graph = object_graph(self._root)
        return graph, match(graph, self._proto) if self._proto else self._by_names(graph)

    def _by_names(self, graph: ObjectGraph) -> Match:
        """Return the match for a checkpoint of ``tf.train.Saver``, by the variables' own names."""
        from tfnb.library.training.trackable import Match

        assert self._path is not None
        by_name = {variable.op.name: variable for variable in graph.variables()}
        with CheckpointReader(self._path) as reader:
            stored = list(reader.names())
        found = {name: by_name[name] for name in stored if name in by_name}
        return Match(
            found, {id(one) for one in found.values()}, [n for n in stored if n not in found]
        )

    def assert_consumed(self) -> LoadStatus:
        """Raise if an object has no value in the checkpoint, or a value belongs to no object.

        Raises:
          AssertionError: one of them does not match.
        """
        self.assert_existing_objects_matched()
        _, found = self._found()
        if found.unresolved:
            raise AssertionError(
                f"Unresolved object in checkpoint {self._path}: {', '.join(found.unresolved[:10])}"
            )
        return self

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Raise if a variable or table has no value in the checkpoint.

        Raises:
          AssertionError: one of them has no value.
        """
        graph, found = self._found()
        without = [
            one
            for one in [*graph.variables(), *graph.tables()]
            if id(one) not in found.matched and one is not self._root._save_counter
        ]
        if without:
            shown = without[:10]
            raise AssertionError(
                f"Found {len(without)} Python objects that were not bound to checkpointed values, "
                "likely due to changes in the Python program. Showing "
                f"{len(shown)} of {len(without)} unmatched objects: {shown}"
            )
        return self

    def assert_nontrivial_match(self) -> LoadStatus:
        """Raise if no value of the checkpoint belongs to an object.

        Raises:
          AssertionError: none does.
        """
        _, found = self._found()
        if not [one for one in found.variables.values() if one is not self._root._save_counter]:
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means "
                "that the checkpoint does not match the Python program."
            )
        return self

    def expect_partial(self) -> LoadStatus:
        """Do nothing: tfnb never warns about values that are not restored."""
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Give the objects their values: all of them, or none if one does not fit.

        Args:
          session: the session; the default one if None.

        Raises:
          AssertionError: there is no checkpoint.
          InvalidArgumentError: a value has another type or shape; a table shows the differences.
          DataLossError: the checkpoint is damaged.
        """
        _, found = self._found()
        self._restore(found, _session(session))

    def _restore(self, found: Match, session: SessionLike) -> None:
        if not found.variables:
            return
        savers = self._root._savers
        key = tuple((name, id(variable)) for name, variable in found.variables.items())
        if key not in savers:
            with session.graph.as_default():
                savers[key] = Saver(_saveables(found.variables), max_to_keep=0)
        savers[key].restore(session, self._path)

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Give the objects their values, and initialize the other variables and tables.

        Args:
          session: the session; the default one if None.
        """
        session = _session(session)
        matched: set[int] = set()
        known: set[int] = set()
        if self._path is not None:
            graph, found = self._found()
            matched, known = {id(one) for one in found.variables.values()}, found.matched
            self._restore(found, session)
        else:
            _ = self._root.save_counter
            graph = object_graph(self._root)
        others = [one.initializer for one in graph.variables() if id(one) not in matched]
        # A table that is filled once counts as restored if the checkpoint has a node for it.
        others += [
            one.initializer
            for one in graph.objects
            if not isinstance(one, Variable)
            and isinstance(getattr(one, "initializer", None), Operation)
            and id(one) not in known
        ]
        if others:
            session.run(others)
