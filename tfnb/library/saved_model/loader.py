"""Reading SavedModels: ``tf.saved_model.load``."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfnb.core import effects, errors
from tfnb.core.files import file_system
from tfnb.framework.scope_names import prepend_name_scope
from tfnb.library.saved_model import constants
from tfnb.library.training.graph_io import write_graph
from tfnb.library.training.meta_graph import import_meta_graph_with_return_elements
from tfnb.proto import meta_graph_pb2, saved_model_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor_types import PathLike
    from tfnb.library.training.saver import Saver

EXPORTS = {
    "saved_model": ["contains_saved_model", "load", "maybe_saved_model_directory"],
    "saved_model.loader": ["load", "maybe_saved_model_directory"],
    "saved_model.signature_def_utils": ["MethodNameUpdater"],
}

_log = logging.getLogger("tensorflow")


def _paths(export_dir: str) -> tuple[str, str]:
    return (
        os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PB),
        os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PBTXT),
    )


def maybe_saved_model_directory(export_dir: PathLike) -> bool:
    """Return whether a folder has a SavedModel's file of graphs."""
    return any(
        os.path.exists(file_system.local_path(path)) for path in _paths(os.fspath(export_dir))
    )


def contains_saved_model(export_dir: PathLike) -> bool:
    """Return whether a folder has a SavedModel; as :func:`maybe_saved_model_directory`."""
    return maybe_saved_model_directory(export_dir)


def parse_saved_model(export_dir: PathLike) -> Any:
    """Return the SavedModel message of a folder.

    Raises:
      OSError: there is none, or it cannot be read.
    """
    folder = os.fspath(export_dir)
    binary, text = _paths(folder)
    found = saved_model_pb2.SavedModel()
    if os.path.exists(file_system.local_path(binary)):
        try:
            found.ParseFromString(file_system.read_file(binary))
        except DecodeError as error:
            raise OSError(f"Cannot parse file {binary}: {error}.") from None
    elif os.path.exists(file_system.local_path(text)):
        try:
            text_format.Parse(file_system.read_file(text).decode(), found)
        except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
            raise OSError(f"Cannot parse file {text}: {error}.") from None
    else:
        raise OSError(
            f"SavedModel file does not exist at: {folder}{os.sep}"
            f"{{{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}"
        )
    return found


def load(
    sess: SessionLike,
    tags: Iterable[str],
    export_dir: PathLike,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Add a graph of a SavedModel to a session's graph, restore its variables and run its init op.

    Args:
      sess: the session.
      tags: all tags of the requested graph.
      export_dir: the folder.
      import_scope: a name scope for all nodes.
      **saver_kwargs: further arguments of ``tf.train.import_meta_graph``.

    Returns:
      The MetaGraphDef, with the signatures in ``signature_def``.

    Raises:
      OSError: there is no SavedModel in the folder.
      RuntimeError: no graph has exactly these tags.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


class SavedModelLoader:
    """A loader of the graphs of one SavedModel.

    Args:
      export_dir: the folder.

    Raises:
      OSError: there is no SavedModel in it.
    """

    def __init__(self, export_dir: PathLike) -> None:
        self._export_dir: str = os.fspath(export_dir)
        self._saved_model = parse_saved_model(self._export_dir)

    @property
    def export_dir(self) -> str:
        """The folder."""
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The prefix of the checkpoint."""
        return os.path.join(
            self._export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME
        )

    @property
    def saved_model(self) -> Any:
        """The SavedModel message."""
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags: Iterable[str]) -> Any:
        """Return the graph that has exactly these tags.

        Raises:
          RuntimeError: there is none.
        """
        wanted = {tags} if isinstance(tags, str) else set(tags)
        for meta_graph_def in self._saved_model.meta_graphs:
            if set(meta_graph_def.meta_info_def.tags) == wanted:
                return meta_graph_def
        known = [set(one.meta_info_def.tags) for one in self._saved_model.meta_graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(tags).strip('[]')} could not be found in "
            f"SavedModel, with available tags '{known}'."
        )

    def load_graph(
        self, graph: Graph, tags: Iterable[str], import_scope: str | None = None, **kwargs: Any
    ) -> tuple[Saver | None, Any]:
        """Add the nodes to a graph; return the saver, and the requested ``return_elements``."""
        meta_graph_def = self.get_meta_graph_def_from_tags(tags)
        with graph.as_default():
            return import_meta_graph_with_return_elements(
                meta_graph_def, import_scope=import_scope, **kwargs
            )

    def restore_variables(self, sess: SessionLike, saver: Saver | None) -> None:
        """Restore the variables of a graph that was added."""
        if saver is None:
            _log.info("The specified SavedModel has no variables; no checkpoints were restored.")
            return
        with sess.graph.as_default():
            saver.restore(sess, self.variables_path)

    def run_init_ops(
        self, sess: SessionLike, tags: Iterable[str], import_scope: str | None = None
    ) -> None:
        """Run the init op of a graph that was added, with the model's own assets."""
        meta_graph_def = self.get_meta_graph_def_from_tags(tags)
        init_op = _init_op(sess.graph, meta_graph_def, import_scope)
        if init_op is not None:
            feeds, files = self._asset_feeds(meta_graph_def, import_scope)
            with effects.feeding_to_read(files):
                sess.run([init_op], feed_dict=feeds)

    def _asset_feeds(
        self, meta_graph_def: meta_graph_pb2.MetaGraphDef, import_scope: str | None
    ) -> tuple[dict[str, str], dict[str, str | None]]:
        """Return the feeds for the assets, and the files that the paths must lead to.

        Raises:
          InvalidArgumentError: an asset is not in the folder of assets.
        """
        assets = list(meta_graph_def.asset_file_def)
        if not assets and constants.ASSETS_KEY in meta_graph_def.collection_def:
            for packed in meta_graph_def.collection_def[constants.ASSETS_KEY].any_list.value:
                asset = meta_graph_pb2.AssetFileDef()
                packed.Unpack(asset)
                assets.append(asset)
        folder = os.path.join(self._export_dir, constants.ASSETS_DIRECTORY)
        feeds: dict[str, str] = {}
        files: dict[str, str | None] = {}
        for asset in assets:
            path = os.path.join(folder, asset.filename)
            tensor = prepend_name_scope(asset.tensor_info.name, import_scope)
            feeds[tensor], files[path] = path, _asset_file(folder, asset.filename)
        return feeds, files

    def load(
        self, sess: SessionLike, tags: Iterable[str], import_scope: str | None = None, **kwargs: Any
    ) -> Any:
        """See :func:`load`."""
        tags = [tags] if isinstance(tags, str) else list(tags)
        meta_graph_def = self.get_meta_graph_def_from_tags(tags)
        saver, _ = self.load_graph(sess.graph, tags, import_scope, **kwargs)
        self.restore_variables(sess, saver)
        self.run_init_ops(sess, tags, import_scope)
        return meta_graph_def


def _asset_file(folder: str, name: str) -> str:
    """Return the resolved path of an asset's file.

    Raises:
      InvalidArgumentError: it is not in the folder: the name is absolute or has ``..``, or a link
        leads out.
    """
    is_plain = (
        bool(name)
        and "\0" not in name
        and not os.path.isabs(name)
        and os.pardir not in name.replace("\\", "/").split("/")
        and "://" not in name
    )
    if is_plain:
        # The folder of assets may itself be a link inside the model's folder.
        home, inside = (effects.resolved_path(one) for one in (os.path.dirname(folder), folder))
        found = effects.resolved_path(os.path.join(folder, name))
        if effects.is_below(inside, home) and effects.is_below(found, inside) and found != inside:
            return found
    raise errors.invalid_argument(
        f"The SavedModel names the asset {name!r}, which is no file in its folder {folder!r}: a "
        "model reads only the assets that came with it. If you trust this one, put the file itself "
        "there in place of the link or name."
    )


def _init_op(
    graph: Graph, meta_graph_def: meta_graph_pb2.MetaGraphDef, import_scope: str | None
) -> Any:
    """Return a model's init op: from its own signature, or from one of two collections."""
    signature = meta_graph_def.signature_def.get(constants.INIT_OP_SIGNATURE_KEY)
    if signature is not None:
        name = signature.outputs[constants.INIT_OP_SIGNATURE_KEY].name
        return graph.as_graph_element(prepend_name_scope(name, import_scope))
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if key in meta_graph_def.collection_def:
            names = meta_graph_def.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(
                    f"Expected exactly one SavedModel init op. Found {len(names)}: {names}."
                )
            return graph.as_graph_element(prepend_name_scope(names[0], import_scope))
    return None


class MethodNameUpdater:
    """An editor of the method names of signatures in a SavedModel.

    Args:
      export_dir: the folder.
    """

    def __init__(self, export_dir: PathLike) -> None:
        self._export_dir = os.fspath(export_dir)
        self._saved_model = parse_saved_model(self._export_dir)

    def replace_method_name(
        self, signature_key: str, method_name: str, tags: Iterable[str] | str | None = None
    ) -> None:
        """Replace the method name of signatures.

        Args:
          signature_key: the signatures' name.
          method_name: the method name.
          tags: only in the graph with these tags; None for all graphs that have the signature.

        Raises:
          ValueError: a name is empty, or there is no signature of this name.
        """
        if not signature_key:
            raise ValueError("`signature_key` must be defined.")
        if not method_name:
            raise ValueError("`method_name` must be defined.")
        wanted = None if tags is None else {tags} if isinstance(tags, str) else set(tags)
        found = False
        for meta_graph_def in self._saved_model.meta_graphs:
            if wanted is not None and set(meta_graph_def.meta_info_def.tags) != wanted:
                continue
            if signature_key in meta_graph_def.signature_def:
                meta_graph_def.signature_def[signature_key].method_name = method_name
                found = True
        if not found:
            raise ValueError(
                f"MetaGraphDef associated with tags {tags} could not be found in SavedModel, or "
                f"has no signature_def {signature_key!r}."
            )

    def save(self, new_export_dir: Any = None) -> None:
        """Write the graphs to their own folder, or to another one."""
        folder = self._export_dir if new_export_dir is None else os.fspath(new_export_dir)
        as_text = not os.path.exists(file_system.local_path(_paths(self._export_dir)[0]))
        name = os.path.basename(_paths(folder)[int(as_text)])
        write_graph(self._saved_model, folder, name, as_text=as_text)
