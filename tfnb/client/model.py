"""``tfnb.Model``: a model from a file as a function of arrays."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from tfnb.client.model_file import ModelFile, ModelFileError, checkpoint_of, read_model
from tfnb.client.model_function import ModelFunction
from tfnb.client.model_path import model_path, saved_model_above
from tfnb.client.model_session import (
    ModelGraph,
    files_of,
    load_graph,
    signature_key,
    signature_named,
    tensor_name,
)
from tfnb.client.model_summary import ModelSummary, describe
from tfnb.client.model_tensor import ModelTensor
from tfnb.client.public import resolve
from tfnb.client.terminal_text import terminal_text
from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.framework.graph import Graph
from tfnb.framework.importing.importer import import_graph_def
from tfnb.framework.tensor import Tensor
from tfnb.library.training.checkpoint_state import checkpoint_exists
from tfnb.ops.array.array_ops import placeholder

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tfnb.client.session.session import Session
    from tfnb.core.tensor_shape import TensorShape

EXPORTS = {"tf": ["Model", "load"]}

_META: Final = ".meta"

type_of_names = str | Sequence[str] | Mapping[str, str]


class Model(ModelFunction):
    """A model from a file: a frozen graph, a MetaGraphDef, a SavedModel or a checkpoint.

    It is called with arrays, positional in the order of its inputs or by their names. The result is
    an array if the model has one output, else a dict. The graph is read at once; its variables get
    their values with the first call. Its nodes are from a file: effects need
    ``tfnb.safety.allow(..., graph=model.graph)``. A pickled model holds its path and is read again.

    >>> import tempfile
    >>> import numpy as np
    >>> import tfnb as tf
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [None, 2], name="x")
    ...     y = tf.reduce_sum(x, 1, name="y")
    ...     path = tf.train.write_graph(graph, folder, "sums.pb", as_text=False)
    >>> model = tf.Model(path)
    >>> model
    <Model sums.pb: x float32 (?, 2) -> y float32 (?,)>
    >>> model(np.ones((3, 2)))
    array([2., 2., 2.], dtype=float32)

    Attributes:
        path: The file, the folder of a SavedModel, or the prefix of a checkpoint.
        graph: The graph.
        inputs: Key -> input.
        outputs: Key -> output.
        signatures: Name -> function of a signature, which runs in the same session.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        tags: Sequence[str] | str | None = None,
        signature: str | None = None,
        inputs: type_of_names | None = None,
        outputs: type_of_names | None = None,
    ) -> None:
        """Read the graph.

        Args:
            path: A file with a GraphDef or MetaGraphDef, the folder of a SavedModel; or a
                checkpoint, whose graph is in the file ``.meta`` beside it.
            checkpoint: The prefix or the folder of a checkpoint with the values of variables. If
                None, a file ``.meta`` takes the checkpoint beside it that was saved with it.
            tags: Tags of the graph to take from a SavedModel; required if it has several.
            signature: The signature that names inputs and outputs; ``serving_default`` or the only
                one if None.
            inputs: Keys of the signature or names of tensors; or a mapping of keys of your choice
                to them. Those of the signature if None; without a signature, the placeholders that
                the outputs need, which may be none.
            outputs: Likewise. Without a signature, the output that depends on most nodes.

        Raises:
            NotFoundError: The file does not exist.
            ModelFileError: It holds no model, or the model lacks a named part.
            OpError: The graph is not valid.
        """
        self.path = model_path(path)
        self._given = (checkpoint, tags, signature, inputs, outputs)
        own = checkpoint_of(self.path)
        if own is not None and checkpoint is None:
            meta = f"{own}.meta"
            if not os.path.isfile(meta):
                if (folder := saved_model_above(own)) is not None:
                    raise ModelFileError(
                        f"{self.path} has the variables of a SavedModel; give its folder {folder}"
                    )
                raise ModelFileError(
                    f"{self.path} is a checkpoint without a graph ({meta}); give the file with the "
                    f"graph: Model(graph, checkpoint={own!r})"
                )
            model, checkpoint = read_model(meta), own
        else:
            model = read_model(self.path, tags)
            if checkpoint is None:
                checkpoint = _checkpoint_beside(model)
        prefix = None if checkpoint is None else os.fspath(checkpoint)
        self._loaded = load_graph(model, prefix)
        self._versions = {
            name: (path, file_system.version_of(path))
            for name, path in files_of(model, self._loaded.checkpoint).items()
        }
        self.graph: Graph = self._loaded.graph
        named = signature_named(model, signature)
        self._lock = threading.RLock()
        self._session: Session | None = None  # guarded by self._lock
        self._functions: list[ModelFunction] = [self]  # guarded by self._lock
        # Inputs depend on outputs, where the graph has no signature.
        self.outputs = self._tensors(_output_names(model, named, outputs), named, "outputs")
        super().__init__(
            signature_key(model, named),
            "" if named is None else named.method_name,
            self._tensors(self._input_names(named, inputs), named, "inputs"),
            self.outputs,
            self._prepared_call,
        )

    # -- inputs and outputs

    def _input_names(self, signature: Any, given: type_of_names | None) -> Mapping[str, str]:
        if given is not None:
            return _as_mapping(given)
        if signature is not None and self._has_outputs_of(signature):
            return {key: key for key in sorted(signature.inputs)}
        needed = _placeholders_before([one.name for one in self.outputs.values()], self.graph)
        return {name: name for name in needed}

    def _has_outputs_of(self, signature: Any) -> bool:
        known = {info.name for info in signature.outputs.values()}
        return {one.name for one in self.outputs.values()} <= known

    def _tensors(
        self, names: Mapping[str, str], signature: Any, side: str
    ) -> dict[str, ModelTensor]:
        found = {}
        for key, given in names.items():
            info = None if signature is None else getattr(signature, side).get(given)
            if info is not None and not info.name:
                raise ModelFileError(
                    f"{self.path}: {given!r} of the signature's {side} is no dense tensor. Name "
                    f"its parts: {_parts_of(info, side)}"
                )
            try:
                tensor = self.graph.get_tensor_by_name(tensor_name(given, signature, side))
            except (KeyError, ValueError) as error:
                raise ModelFileError(f"{self.path} has no tensor {given!r}: {error}") from None
            found[key] = ModelTensor(key, tensor.name, tensor.dtype, tensor.get_shape())
        if not found and side == "outputs":
            raise ModelFileError(f"{self.path} has no {side}; name them: {side}=['node:0']")
        return found

    def shapes_for(self, shapes: Mapping[str, Any]) -> dict[str, TensorShape]:
        """Return the static shapes of the outputs for inputs of these shapes.

        Args:
            shapes: Key of an input -> its shape, as far as it is known.

        Raises:
            ValueError: The graph does not accept these shapes, or has no such input.
        """
        unknown = [key for key in shapes if key not in self.inputs]
        if unknown:
            raise ValueError(
                f"{', '.join(map(repr, unknown))}: the inputs are {', '.join(self.inputs)}."
            )
        fed = {}
        with Graph().as_default():
            for key, one in self.inputs.items():
                try:
                    shape = one.shape.merge_with(shapes.get(key))
                except ValueError as error:
                    raise ValueError(f"The input {key} has shape {one.shape}: {error}.") from None
                fed[one.name] = placeholder(one.dtype, shape)
            wanted = [one.name for one in self.outputs.values()]
            found = import_graph_def(
                self.graph.as_graph_def(), input_map=fed, return_elements=wanted, name=""
            )
            assert found is not None
            tensors = [one for one in found if isinstance(one, Tensor)]
            return {key: one.get_shape() for key, one in zip(self.outputs, tensors)}

    @cached_property
    def signatures(self) -> Mapping[str, ModelFunction]:
        """The signatures of a SavedModel or MetaGraphDef by name; empty for a graph alone.

        Signatures that lack an output, or have tensors that are not dense, are left out.
        """
        found = {}
        for key, signature in sorted(self._loaded.model.signatures.items()):
            infos = (*signature.inputs.values(), *signature.outputs.values())
            if not signature.outputs or not all(info.name for info in infos):
                continue
            inputs = {one: one for one in sorted(signature.inputs)}
            outputs = {one: one for one in sorted(signature.outputs)}
            found[key] = ModelFunction(
                key,
                signature.method_name,
                self._tensors(inputs, signature, "inputs") if inputs else {},
                self._tensors(outputs, signature, "outputs"),
                self._prepared_call,
            )
        with self._lock:
            self._functions += found.values()
        return MappingProxyType(found)

    # -- running

    @property
    def session(self) -> Session:
        """The session of the model, with the values of its variables; opened on first use."""
        with self._lock:
            if self._session is None:
                self._session = self._loaded.open()
            return self._session

    def _prepared_call(self, function: ModelFunction) -> Callable[..., Any]:
        with self._lock:
            if function.prepared is None:
                function.prepared = self.session.make_callable(
                    [one.name for one in function.outputs.values()],
                    [one.name for one in function.inputs.values()],
                )
            return function.prepared

    def close(self) -> None:
        """Close its session, which frees variables and tables; a later call opens a new one."""
        with self._lock:
            session, self._session = self._session, None
            for function in self._functions:
                function.prepared = None
        if session is not None:
            session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- collections

    def map(self, collection: Any, **options: Any) -> Any:
        """Run the model over a Dask collection, or a list of files; see ``tfnb.dask.map_model``.

        Args:
            collection: A Dask Array, Bag or DataFrame, or a dict of Dask Arrays by input; or paths
                of files ``.npy`` or TFRecord.
            **options: Further arguments of ``tfnb.dask.map_model``.
        """
        return resolve("dask", "map_model")(self, collection, **options)

    @property
    def loaded(self) -> ModelGraph:
        """The graph with its file and checkpoint; internal, for the room of Dask."""
        return self._loaded

    def contents(self) -> dict[str, bytes]:
        """Return the contents of the model's files by name, from which it can be opened elsewhere.

        Raises:
            FailedPreconditionError: A file was changed or removed since the model was read.
        """
        found = {}
        for name, (path, version) in self._versions.items():
            changed = not os.path.isfile(path) or file_system.version_of(path) != version
            if changed:
                raise errors.failed_precondition(
                    f"{path} was changed after the model was read. Read it again: "
                    f"tfnb.Model({self.path!r})"
                )
            found[name] = file_system.read_file(path)
        return found

    @property
    def num_bytes(self) -> int:
        """The size of the model's files."""
        return sum(
            os.path.getsize(path) for path, _ in self._versions.values() if os.path.isfile(path)
        )

    def summary(self) -> ModelSummary:
        """Return inputs, outputs, signatures and contents, shown as text with a call that runs."""
        return ModelSummary(describe(self._loaded.model), self.example_source())

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[Any, ...]]:
        return _reopened, (os.path.abspath(self.path), *self._given)

    def __repr__(self) -> str:
        name = terminal_text(os.path.basename(self.path.rstrip("/")))
        return f"<Model {name}: {self.described()}>"


def load(
    path: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    tags: Sequence[str] | str | None = None,
    signature: str | None = None,
    inputs: type_of_names | None = None,
    outputs: type_of_names | None = None,
) -> Model:
    """Return the model in a file as a function of arrays.

    The kind of file is found by its contents: a frozen graph (binary or text), a MetaGraphDef, a
    SavedModel, or a checkpoint with its graph beside it.

    Args:
        path: The file, the folder of a SavedModel, or the prefix of a checkpoint.
        checkpoint: The prefix or the folder of a checkpoint with the values of variables.
        tags: Tags of the graph to take from a SavedModel; required if it has several.
        signature: The signature that names inputs and outputs.
        inputs: Keys of the signature or names of tensors; see :class:`Model`.
        outputs: Likewise.

    Raises:
        NotFoundError: The file does not exist.
        ModelFileError: It holds no model, or the model lacks a named part.
        OpError: The graph is not valid.
    """
    return Model(
        path,
        checkpoint=checkpoint,
        tags=tags,
        signature=signature,
        inputs=inputs,
        outputs=outputs,
    )


def _reopened(
    path: str,
    checkpoint: str | os.PathLike[str] | None,
    tags: Sequence[str] | str | None,
    signature: str | None,
    inputs: type_of_names | None,
    outputs: type_of_names | None,
) -> Model:
    """Return a model that was pickled; permissions for effects do not travel with it."""
    return load(
        path,
        checkpoint=checkpoint,
        tags=tags,
        signature=signature,
        inputs=inputs,
        outputs=outputs,
    )


def _checkpoint_beside(model: ModelFile) -> str | None:
    """Return the checkpoint that was saved with a MetaGraphDef, if it is there."""
    if model.kind != "MetaGraphDef" or not model.path.endswith(_META):
        return None
    prefix = model.path[: -len(_META)]
    return prefix if checkpoint_exists(prefix) else None


def _parts_of(info: Any, side: str) -> str:
    """Return the argument that names the tensors of a sparse or composite tensor."""
    sparse = info.coo_sparse
    names = [
        *(sparse.indices_tensor_name, sparse.values_tensor_name, sparse.dense_shape_tensor_name),
        *(one.name for one in info.composite_tensor.components),
    ]
    return f"{side}={[name for name in names if name]}"


def _as_mapping(given: type_of_names) -> Mapping[str, str]:
    if isinstance(given, Mapping):
        return given
    names = [given] if isinstance(given, str) else list(given)
    return {name: name for name in names}


def _output_names(
    model: ModelFile, signature: Any, given: type_of_names | None
) -> Mapping[str, str]:
    if given is not None:
        return _as_mapping(given)
    if signature is not None and signature.outputs:
        return {key: key for key in sorted(signature.outputs)}
    found = describe(model)["outputs"][:1]
    return {name: name for name in found}


def _placeholders_before(outputs: Sequence[str], graph: Graph) -> list[str]:
    """Return the placeholders that must be fed for tensors, in the order of the graph."""
    waiting = [graph.get_tensor_by_name(name).op for name in outputs]
    seen = set(waiting)
    while waiting:
        op = waiting.pop()
        for before in (*(one.op for one in op.inputs), *op.control_inputs):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return [op.name for op in graph.get_operations() if op in seen and op.type == "Placeholder"]
