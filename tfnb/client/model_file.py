"""Files with a graph: GraphDef and MetaGraphDef, binary or text, SavedModel folders."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfnb.core.files import file_system
from tfnb.library.saved_model import constants
from tfnb.library.saved_model.loader import SavedModelLoader, contains_saved_model
from tfnb.library.training.checkpoint_state import checkpoint_exists, latest_checkpoint
from tfnb.proto import graph_pb2, meta_graph_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.proto.graph_pb2 import GraphDef
    from tfnb.proto.meta_graph_pb2 import MetaGraphDef

type_of_kind = Literal["GraphDef", "MetaGraphDef", "SavedModel", "checkpoint"]

# The end of a LevelDB table.
_TABLE_MARK = bytes.fromhex("57fb808b247547db")
_FILE_OF_CHECKPOINT = re.compile(r"\.(index|data-\d{5}-of-\d{5})$")
# The beginning of a pointer file, in place of contents that version control keeps elsewhere.
_POINTER = b"version https://git-lfs"


# How files of other kinds begin; the mark of a FlatBuffer comes after four bytes.
_OTHER_KINDS = (
    (0, b"\x89HDF\r\n", "an HDF5 file, as Keras writes it"),
    (4, b"TFL3", "a model of TensorFlow Lite"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"\x93NUMPY", "an array of NumPy"),
    (0, b"\x80\x02", "a pickled object"),
    (0, b"\x80\x03", "a pickled object"),
    (0, b"\x80\x04", "a pickled object"),
    (0, b"\x80\x05", "a pickled object"),
)
READABLE = "a GraphDef or MetaGraphDef (.pb, .pbtxt, .meta), a SavedModel folder, or a checkpoint"


class ModelFileError(Exception):
    """A file cannot be read as a model, or the model does not have the requested part."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model read from a file.

    Attributes:
        path: The file, or the folder of a SavedModel.
        kind: The kind of file.
        graph_def: The graph.
        meta_graph: The graph with collections, signatures and so on; None for a GraphDef alone.
        tags: The tags of the graph of a SavedModel.
    """

    path: str
    kind: type_of_kind
    graph_def: GraphDef
    meta_graph: MetaGraphDef | None = None
    tags: tuple[str, ...] = ()

    @property
    def signatures(self) -> dict[str, Any]:
        """Name -> SignatureDef."""
        return {} if self.meta_graph is None else dict(self.meta_graph.signature_def)


def read_model(path: str, tags: Sequence[str] | None = None) -> ModelFile:
    """Return the model at a path.

    Args:
        path: A file, or the folder of a SavedModel.
        tags: The tags of the graph to read from a SavedModel; required if it has several.

    Raises:
        NotFoundError: The file does not exist.
        ModelFileError: It holds no model, or no model with these tags.
    """
    name = os.path.basename(path)
    if name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT):
        path = os.path.dirname(path) or "."
    checkpoint = checkpoint_of(path)
    if checkpoint is not None:
        raise ModelFileError(
            f"{path} is a checkpoint, which has the values of variables and no graph; give the "
            f"file with the graph, and --checkpoint {checkpoint}"
        )
    if os.path.isdir(path):
        return _saved_model(path, tags)
    if tags is not None:
        raise ModelFileError(f"{path} is no SavedModel folder; leave out the tags")
    data = file_system.read_file(path)
    if data.startswith(_POINTER):
        raise ModelFileError(
            f"{path} is a Git LFS pointer, not the file itself; run 'git lfs pull' where it came "
            "from"
        )
    for at, mark, kind in _OTHER_KINDS:
        if data.startswith(mark, at):
            raise ModelFileError(f"{path} is {kind}; a model is {READABLE}")
    if not data.strip():
        raise ModelFileError(f"{path} is empty ({len(data)} bytes); it holds no model")
    if path.endswith((".meta", ".meta.txt", ".metatxt")):
        meta_graph = _parsed(path, data, meta_graph_pb2.MetaGraphDef())
        if not meta_graph.graph_def.node:
            raise ModelFileError(f"{path} holds a MetaGraphDef without nodes")
        return ModelFile(path, "MetaGraphDef", meta_graph.graph_def, meta_graph)
    try:
        graph_def = _parsed(path, data, graph_pb2.GraphDef())
        if graph_def.node:
            return ModelFile(path, "GraphDef", graph_def)
    except ModelFileError as error:
        problem = error
    else:
        problem = ModelFileError(f"{path} holds a GraphDef without nodes")
    try:  # a MetaGraphDef under another name
        meta_graph = _parsed(path, data, meta_graph_pb2.MetaGraphDef())
    except ModelFileError:
        raise problem from None
    if not meta_graph.graph_def.node:
        raise problem
    return ModelFile(path, "MetaGraphDef", meta_graph.graph_def, meta_graph)


def checkpoint_of(path: str) -> str | None:
    """Return the prefix of the checkpoint at a path; None if there is no checkpoint.

    The path may be a prefix, a file of a checkpoint of either format, or a folder with checkpoints
    and without a SavedModel, whose last checkpoint is taken.
    """
    if os.path.isdir(path):
        return None if contains_saved_model(path) else latest_checkpoint(path)
    prefix = _FILE_OF_CHECKPOINT.sub("", path)
    if os.path.isfile(f"{prefix}.index"):
        return prefix
    if not os.path.isfile(path):
        return path if path and checkpoint_exists(path) else None
    if os.path.getsize(path) < len(_TABLE_MARK):
        return None
    with open(path, "rb") as file:
        file.seek(-len(_TABLE_MARK), os.SEEK_END)
        return path if file.read() == _TABLE_MARK else None


def _parsed(path: str, data: bytes, message: Any) -> Any:
    """Return a message parsed from its binary form or from text."""
    kind = type(message).__name__
    is_text = path.endswith((".pbtxt", ".txt", ".metatxt"))
    try:
        if is_text or _looks_like_text(data):
            return text_format.Parse(data.decode(), message)
        message.ParseFromString(data)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(f"{path} is no {kind}: {error}") from None
    return message


def _looks_like_text(data: bytes) -> bool:
    """Return whether the beginning is printable; a binary message begins with a small number."""
    beginning = data[:512]
    return bool(beginning) and all(byte >= 32 or byte in b"\t\n\r" for byte in beginning)


def _saved_model(path: str, tags: Sequence[str] | None) -> ModelFile:
    if not contains_saved_model(path):
        raise ModelFileError(f"{path} is a folder without {constants.SAVED_MODEL_FILENAME_PB}")
    try:
        loader = SavedModelLoader(path)
    except OSError as error:
        raise ModelFileError(str(error)) from None
    sets = [tuple(graph.meta_info_def.tags) for graph in loader.saved_model.meta_graphs]
    if tags is None:
        if len(sets) != 1:
            raise ModelFileError(
                f"{path} has {len(sets)} graphs; choose one with --tags: "
                + "; ".join(",".join(found) for found in sets)
            )
        tags = sets[0]
    try:
        meta_graph = loader.get_meta_graph_def_from_tags(tags)
    except RuntimeError:
        known = "; ".join(",".join(found) for found in sets)
        raise ModelFileError(
            f"{path} has no graph with the tags {','.join(tags)}; there are: {known}"
        ) from None
    return ModelFile(path, "SavedModel", meta_graph.graph_def, meta_graph, tuple(tags))
