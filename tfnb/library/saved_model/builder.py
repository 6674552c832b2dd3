"""Writing SavedModels: ``tf.saved_model.Builder`` and ``simple_save``.

The graphs' file is written last, so a folder that has it is complete.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format

from tfnb.core import dtypes
from tfnb.core.files import file_system
from tfnb.framework.collections import GraphKeys
from tfnb.framework.operation import Operation
from tfnb.framework.scopes import add_to_collection, get_collection
from tfnb.framework.tensor import Tensor
from tfnb.library.saved_model import constants
from tfnb.library.saved_model.signature_defs import predict_signature_def
from tfnb.library.training.saveable import all_saveable_objects
from tfnb.library.training.saver import Saver
from tfnb.proto import meta_graph_pb2, saved_model_pb2, types_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.tensor_types import Nested, PathLike, TensorLike

EXPORTS = {
    "saved_model": ["Builder:SavedModelBuilder", "simple_save"],
    "saved_model.builder": ["SavedModelBuilder"],
}


class SavedModelBuilder:
    """A collection of graphs that is written as a SavedModel.

    Args:
      export_dir: the folder; it may exist if it is empty.

    Raises:
      AssertionError: the folder is not empty.
    """

    def __init__(self, export_dir: PathLike) -> None:
        self._export_dir = os.fspath(export_dir)
        self._saved_model = saved_model_pb2.SavedModel(
            saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION
        )
        folder = file_system.local_path(self._export_dir)
        if os.path.isdir(folder) and os.listdir(folder):
            raise AssertionError(
                f"Export directory {self._export_dir} already exists, and isn't empty. Please "
                "choose a different export directory, or delete all the contents of the specified "
                f"directory: {sorted(os.listdir(folder))}"
            )
        self._make_folder()
        self._has_saved_variables = False

    def _make_folder(self, *names: str) -> str:
        path = os.path.join(self._export_dir, *names)
        with file_system.translating_errors(path):
            os.makedirs(file_system.local_path(path), exist_ok=True)
        return path

    def add_meta_graph_and_variables(
        self,
        sess: SessionLike,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the default graph, and the variables of a session; the first graph to add.

        Args:
          sess: the session.
          tags: the purposes of the graph.
          signature_def_map: name -> signature.
          assets_collection: constants with the paths of files that belong to the model.
          legacy_init_op: an op that a loader runs at the end.
          clear_devices: whether devices are removed from nodes.
          main_op: the newer name of ``legacy_init_op``.
          strip_default_attrs: whether attributes with default values are left out.
          saver: the saver; without one, all variables are saved, a shard for each device.

        Raises:
          AssertionError: variables were added before, or a signature is incomplete.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        signatures = _checked_signatures(signature_def_map)
        _asset_files(assets_collection)  # raises before anything is written
        _add_init_op(legacy_init_op if main_op is None else main_op)
        folder = self._make_folder(constants.VARIABLES_DIRECTORY)
        saver = _saver_or_default(saver)
        saver.save(
            sess,
            os.path.join(folder, constants.VARIABLES_FILENAME),
            write_meta_graph=False,
            write_state=False,
        )
        self._add(saver, tags, signatures, assets_collection, clear_devices, strip_default_attrs)
        self._has_saved_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the default graph, which shares the variables of the first one added.

        Arguments as in :meth:`add_meta_graph_and_variables`.

        Raises:
          AssertionError: no variables were added before, or a signature is incomplete.
        """
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        signatures = _checked_signatures(signature_def_map)
        _asset_files(assets_collection)  # raises before anything is written
        _add_init_op(legacy_init_op if main_op is None else main_op)
        saver = _saver_or_default(saver)
        self._add(saver, tags, signatures, assets_collection, clear_devices, strip_default_attrs)

    def _add(
        self,
        saver: Saver,
        tags: Iterable[str],
        signatures: Mapping[str, Any],
        assets: Any,
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        files = _asset_files(assets)
        self._copy_assets(files)
        for tensor, name in _in_order(assets, files):
            asset = meta_graph_pb2.AssetFileDef(filename=name)
            asset.tensor_info.name = tensor.name
            packed = meta_graph_pb2.CollectionDef.AnyList().value.add()
            packed.Pack(asset)
            add_to_collection(constants.ASSETS_KEY, packed)
        meta_graph_def = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        meta_graph_def.meta_info_def.tags.extend(tags)
        for key, signature in signatures.items():
            meta_graph_def.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.add().CopyFrom(meta_graph_def)

    def _copy_assets(self, files: Mapping[str, tuple[str, list[Tensor]]]) -> None:
        if not files:
            return
        folder = self._make_folder(constants.ASSETS_DIRECTORY)
        for name, (source, _) in files.items():
            target = os.path.join(folder, name)
            if not os.path.exists(file_system.local_path(target)):
                file_system.write_file(target, file_system.read_file(source))

    def save(
        self,
        as_text: bool = False,
        experimental_image_format: bool = False,
        experimental_image_writer_options: Any = None,
    ) -> str:
        """Write the graphs.

        Args:
          as_text: whether as text.
          experimental_image_format: whether as several files, which needs a package of its own.
          experimental_image_writer_options: options of these files.

        Returns:
          The path of the file.

        Raises:
          RuntimeError: ``experimental_image_format`` is set.
        """
        if experimental_image_format:
            raise RuntimeError(
                "No proto_splitter is provided, cannot use experimental_image_format. Graphs over "
                "2 GB: keep the values in variables."
            )
        self._make_folder()
        if as_text:
            path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PBTXT)
            contents = text_format.MessageToString(self._saved_model).encode()
        else:
            path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PB)
            contents = self._saved_model.SerializeToString(deterministic=True)
        file_system.write_file(path, contents)
        return path


def _saver_or_default(saver: Any) -> Any:
    if saver is not None:
        return saver
    return Saver(all_saveable_objects(), sharded=True, allow_empty=True)


def _add_init_op(op: Any) -> None:
    """Add the op that a loader runs to the collection that loaders read."""
    if op is None:
        return
    if not isinstance(op, Operation):
        raise TypeError(f"Expected {op} to be an Operation but got type {type(op)} instead.")
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if get_collection(key):
            raise ValueError(
                f"Graph already contains one or more main ops under the collection {key}."
            )
    add_to_collection(constants.MAIN_OP_KEY, op)


def _checked_signatures(signature_def_map: Mapping[str, Any] | None) -> Mapping[str, Any]:
    for signature in (signature_def_map or {}).values():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            if info.WhichOneof("encoding") is None:
                raise AssertionError(
                    "All TensorInfo protos used in the SignatureDefs must have one of the "
                    f"'encoding' fields (e.g., name or coo_sparse) set: {info}"
                )
            if (
                info.WhichOneof("encoding") != "composite_tensor"
                and info.dtype == types_pb2.DT_INVALID
            ):
                raise AssertionError(
                    "All TensorInfo protos used in the SignatureDefs must have the dtype field "
                    f"set: {info}"
                )
    return signature_def_map or {}


def _asset_files(assets: Any) -> dict[str, tuple[str, list[Tensor]]]:
    """Return name in the model -> (source path, the constants that contain it)."""
    found: dict[str, tuple[str, list[Tensor]]] = {}
    for tensor in assets or ():
        source = _asset_path(tensor)
        base = name = os.path.basename(source)
        count = 0
        while name in found and found[name][0] != source:
            count += 1
            name = f"{base}_{count}"
        found.setdefault(name, (source, []))[1].append(tensor)
    return found


def _in_order(assets: Any, files: Mapping[str, tuple[str, list[Tensor]]]) -> list[Nested]:
    """Return (constant, name in the model) in the order in which the constants were given."""
    names = {id(tensor): name for name, (_, tensors) in files.items() for tensor in tensors}
    return [(tensor, names[id(tensor)]) for tensor in assets or ()]


def _asset_path(tensor: TensorLike) -> str:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Asset path tensor {tensor} must be a Tensor.")
    if tensor.op.type != "Const":
        raise TypeError(
            f"Asset path tensor {tensor} must be of type constant. Has type {tensor.op.type} "
            "instead."
        )
    if tensor.dtype is not dtypes.string:
        raise TypeError(f"Asset path tensor {tensor} must be of dtype string.")
    from tfnb.framework.constant_value import constant_value

    value: TensorLike = constant_value(tensor)
    if value is None or value.size != 1:
        raise TypeError(f"Asset path tensor {tensor} must be a scalar.")
    path = bytes(value.reshape(-1)[0]).decode("utf-8", "surrogateescape")
    if not path:
        raise ValueError(f"Invalid asset filepath tensor {tensor}")
    return path


def simple_save(
    session: SessionLike,
    export_dir: PathLike,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Write a session's graph and variables as a SavedModel for serving.

    Args:
      session: the session.
      export_dir: the folder.
      inputs: name -> tensor to feed.
      outputs: name -> tensor to fetch.
      legacy_init_op: an op that a loader runs at the end.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    with session.graph.as_default():
        builder.add_meta_graph_and_variables(
            session,
            tags=[constants.SERVING],
            signature_def_map={constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
            assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
            main_op=legacy_init_op,
            clear_devices=True,
        )
    builder.save()
