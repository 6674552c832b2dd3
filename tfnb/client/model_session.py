"""Sessions on models from files: the graph first, then the values of its variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.client.model_file import ModelFileError
from tfnb.client.session.session import Session
from tfnb.core.effects import is_file_of, is_named_by
from tfnb.framework.graph import Graph
from tfnb.framework.importing.importer import import_graph_def
from tfnb.library.saved_model.loader import SavedModelLoader
from tfnb.library.training.checkpoint_state import checkpoint_exists
from tfnb.library.training.checkpoint_values import checkpoint_path_of
from tfnb.library.training.graph_restore import restore_variables
from tfnb.library.training.meta_graph import import_meta_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.client.model_file import ModelFile


@dataclass(frozen=True, slots=True)
class ModelGraph:
    """The graph of a model, before its variables have values.

    Attributes:
        model: The model.
        graph: The graph.
        checkpoint: The prefix of the checkpoint that is restored; None for none.
        saver: What restores the variables; None where a saver is made of the graph.
        loader: The loader of a SavedModel; None for other models.
    """

    model: ModelFile
    graph: Graph
    checkpoint: str | None = None
    saver: Any = None
    loader: SavedModelLoader | None = None

    def open(self, note: Callable[[str], None] | None = None) -> Session:
        """Return a new session, whose variables are restored.

        Args:
            note: Receives a remark if the checkpoint lacks variables.

        Raises:
            OpError: The checkpoint does not fit.
        """
        sess = Session(graph=self.graph)
        try:
            with self.graph.as_default():
                if self.loader is not None:
                    self.loader.restore_variables(sess, self.saver)
                    self.loader.run_init_ops(sess, self.model.tags)
                elif self.checkpoint is not None and self.saver is not None:
                    self.saver.restore(sess, self.checkpoint)
                elif self.checkpoint is not None:
                    missing = restore_variables(sess, self.checkpoint)
                    if missing and note is not None:
                        note(f"{self.checkpoint} has no value for {', '.join(missing)}")
        except BaseException:
            sess.close()
            raise
        return sess


def load_graph(model: ModelFile, checkpoint: str | None = None) -> ModelGraph:
    """Return the graph of a model; its nodes are from a file and need permission for effects.

    Args:
        model: The model.
        checkpoint: The prefix or the folder of a checkpoint with the values of variables.

    Raises:
        ModelFileError: The checkpoint does not exist, or the model is a SavedModel.
        OpError: The graph is not valid.
    """
    prefix = None if checkpoint is None else _checkpoint_path(model, checkpoint)
    graph = Graph()
    with graph.as_default():
        if model.kind == "SavedModel":
            loader = SavedModelLoader(model.path)
            saver, _ = loader.load_graph(graph, model.tags)
            return ModelGraph(model, graph, None, saver, loader)
        if model.kind == "MetaGraphDef":
            return ModelGraph(model, graph, prefix, import_meta_graph(model.meta_graph))
        import_graph_def(model.graph_def, name="")
    return ModelGraph(model, graph, prefix)


def _checkpoint_path(model: ModelFile, given: str) -> str:
    if model.kind == "SavedModel":
        raise ModelFileError(f"{model.path} is a SavedModel, which has its own variables")
    path = checkpoint_path_of(given)
    if path is None or not checkpoint_exists(path):
        raise ModelFileError(f"{given}: there is no checkpoint")
    return path


def signature_named(model: ModelFile, key: str | None) -> Any:
    """Return the signature with a name; without a name the only one, or None.

    Raises:
        ModelFileError: There is no signature of that name.
    """
    found = model.signatures
    if key is None:
        usual = {k: s for k, s in found.items() if not k.startswith("__")}
        return next(iter(usual.values())) if len(usual) == 1 else usual.get("serving_default")
    if key not in found:
        known = ", ".join(sorted(found)) or "none"
        raise ModelFileError(f"{model.path} has no signature {key!r}; there are: {known}")
    return found[key]


def signature_key(model: ModelFile, signature: Any) -> str:
    """Return the name of a signature of a model; empty for None."""
    if signature is None:
        return ""
    return next((key for key, one in model.signatures.items() if one == signature), "")


def tensor_name(name: str, signature: Any, side: str) -> str:
    """Return the tensor for a name that the user gave: a signature's key, or ``node[:output]``.

    Args:
        name: The name.
        signature: The signature; None for none.
        side: ``inputs`` or ``outputs``.
    """
    if signature is not None:
        infos = getattr(signature, side)
        if name in infos:
            return str(infos[name].name)
    return name if ":" in name else f"{name}:0"


def files_of(model: ModelFile, checkpoint: str | None) -> dict[str, str]:
    """Return the files that a model consists of: name relative to a common folder -> path.

    Args:
        model: The model.
        checkpoint: The prefix of its checkpoint; None for none.
    """
    if model.kind == "SavedModel":
        found = {}
        for folder, _, names in os.walk(model.path):
            for name in names:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, model.path).replace(os.sep, "/")] = path
        return found
    paths = {f"graph/{os.path.basename(model.path)}": model.path}
    if checkpoint is not None:
        folder = os.path.dirname(checkpoint)
        for name in os.listdir(folder or "."):
            path = os.path.join(folder, name)
            if is_file_of(path, checkpoint) or is_named_by(path, checkpoint):
                paths[f"checkpoint/{name}"] = path
    return paths
