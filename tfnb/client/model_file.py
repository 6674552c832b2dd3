"""Files with a graph: GraphDef and MetaGraphDef, binary or text, SavedModel folders."""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfnb.client.model_path import (
    READABLE,
    beginning_of,
    looks_like_text,
    model_path,
    not_a_model_folder,
    other_kind,
)
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


def read_model(path: str | os.PathLike[str], tags: Sequence[str] | str | None = None) -> ModelFile:
    """Return the model at a path.

    Args:
        path: A file, or the folder of a SavedModel.
        tags: The tags of the graph to read from a SavedModel, or one text with commas between
            them; required if it has several.

    Raises:
        NotFoundError: The file does not exist.
        ModelFileError: It holds no model, or no model with these tags.
    """
    path = model_path(path)
    if isinstance(tags, str):
        tags = [tag for tag in tags.split(",") if tag]
    name = os.path.basename(path)
    if name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT):
        path = os.path.dirname(path) or "."
    checkpoint = checkpoint_of(path)
    if checkpoint is not None:
        raise ModelFileError(
            f"{path} is a checkpoint, which has the values of variables and no graph; give the "
            f"file with the graph, and checkpoint={checkpoint!r} (--checkpoint)"
        )
    if os.path.isdir(path):
        return _saved_model(path, tags)
    if tags is not None:
        raise ModelFileError(f"{path} is no SavedModel folder; leave out the tags")
    problem = other_kind(path, *beginning_of(path))
    if problem is not None:
        raise ModelFileError(problem)
    data = file_system.read_file(path)
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
        refusal = error
    else:
        refusal = ModelFileError(f"{path} holds a GraphDef without nodes")
    try:  # a MetaGraphDef under another name
        meta_graph = _parsed(path, data, meta_graph_pb2.MetaGraphDef())
    except ModelFileError:
        raise refusal from None
    if not meta_graph.graph_def.node:
        raise refusal
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
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            text_format.Parse(data.decode("utf-16"), message)
        elif looks_like_text(data):
            text_format.Parse(data.decode("utf-8-sig"), message)
        else:
            message.ParseFromString(data)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(
            f"{path} is no {kind}: {str(error).rstrip('.')}. It is cut off, damaged or of another "
            f"kind; a model is {READABLE}"
        ) from None
    return message


def _saved_model(path: str, tags: Sequence[str] | None) -> ModelFile:
    if not contains_saved_model(path):
        raise ModelFileError(not_a_model_folder(path))
    try:
        loader = SavedModelLoader(path)
    except OSError as error:
        raise ModelFileError(str(error)) from None
    sets = [tuple(graph.meta_info_def.tags) for graph in loader.saved_model.meta_graphs]
    if not sets:
        raise ModelFileError(f"{path} is a SavedModel without graphs: its saved_model.pb is empty")
    if tags is None:
        if len(sets) != 1:
            raise ModelFileError(
                f"{path} has {len(sets)} graphs; choose one by its tags=[...] (--tags): "
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
