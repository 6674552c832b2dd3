"""MetaGraphDefs: a graph with its collections and its saver, written and read.

Corresponds to ``meta_graph.py``.
"""

from __future__ import annotations

import logging
import os
import re
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfnb.core import errors, op_registry
from tfnb.core.attr_value import decode_attr
from tfnb.core.files import file_system
from tfnb.core.op_def_proto import op_def_to_proto
from tfnb.core.versions import VERSION
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.graph import Graph
from tfnb.framework.importing.importer import import_graph_def
from tfnb.framework.scope_names import strip_name_scope
from tfnb.library.training.collection_protos import (
    UNBOUND_INPUT_PREFIX,
    add_collection_def,
    is_included,
    restore_collections,
)
from tfnb.library.training.graph_io import write_graph
from tfnb.library.training.saveable import all_saveable_objects
from tfnb.library.training.saver import Saver
from tfnb.proto import graph_pb2, meta_graph_pb2, op_def_pb2, saver_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tfnb.framework.tensor_types import Nested, PathLike, TensorLike

EXPORTS = {"train": ["export_meta_graph", "import_meta_graph"]}

_log = logging.getLogger("tensorflow")

_SAVING_OPS = frozenset(
    (
        "SaveV2", "Save", "SaveSlice", "LegacySave", "LegacySaveSlice",
        "RestoreV2", "Restore", "RestoreSlice", "LegacyRestore", "LegacyRestoreSlice",
    )
)  # fmt: skip


# --------------------------------------------------------------------------------------- exporting


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: graph_pb2.GraphDef | None = None,
    saver_def: saver_pb2.SaverDef | None = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> Any:
    """Return the MetaGraphDef of a graph, optionally written to a file.

    Args:
      filename: the file to write; None for no file.
      meta_info_def: the message from which its ``meta_info_def`` starts.
      graph_def: its nodes; by default those of ``graph``.
      saver_def: its saver.
      collection_list: the collections to write; None for all.
      as_text: whether the file is text.
      graph: the graph; None for the default one.
      export_scope: export only the nodes of this name scope, without it in their names.
      clear_devices: whether devices are removed from nodes.
      clear_extraneous_savers: whether the nodes of other savers are left out.
      strip_default_attrs: whether attributes with default values are left out.
      save_debug_info: not used.

    Returns:
      The MetaGraphDef.
    """
    return export_scoped_meta_graph(
        filename=filename,
        meta_info_def=meta_info_def,
        graph_def=graph_def,
        saver_def=saver_def,
        collection_list=collection_list,
        as_text=as_text,
        graph=graph,
        export_scope=export_scope,
        clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
    )[0]


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: graph_pb2.GraphDef | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: saver_pb2.SaverDef | None = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    meta_info_def: Any = None,
    collection_list: Sequence[str] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the MetaGraphDef of a graph or a scope of it, and the variables in it by name.

    The collection ``unbound_inputs_col_name`` gets the names of inputs from outside the scope; the
    other arguments are those of :func:`export_meta_graph`.
    """
    graph = graph or get_default_graph()
    excluded: set[str] = set()
    if export_scope or clear_extraneous_savers or clear_devices:
        whole = graph_def or graph.as_graph_def(add_shapes=True)
        if clear_extraneous_savers:
            excluded = _nodes_of_other_savers(whole, saver_def)
        unbound: list[str] = []
        graph_def = _part_of(whole, export_scope, excluded, clear_devices, unbound)
        if unbound_inputs_col_name:
            graph.clear_collection(unbound_inputs_col_name)
            for name in unbound:
                graph.add_to_collection(unbound_inputs_col_name, name)
    variables = {
        strip_name_scope(variable.name, export_scope): variable
        for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=export_scope)
        if is_included(variable, export_scope, excluded)
    }
    found = create_meta_graph_def(
        meta_info_def=meta_info_def,
        graph_def=graph_def,
        saver_def=saver_def,
        collection_list=collection_list,
        graph=graph,
        export_scope=export_scope,
        excluded=excluded,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
    )
    if filename:
        folder, name = os.path.split(filename)
        write_graph(found, folder, name, as_text=as_text)
    return found, variables


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: graph_pb2.GraphDef | None = None,
    saver_def: saver_pb2.SaverDef | None = None,
    collection_list: Sequence[str] | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    excluded: Collection[str] = (),
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """Return a MetaGraphDef made from its parts; arguments as in :func:`export_meta_graph`.

    Raises:
      TypeError: an argument has another type.
    """
    for value, kind in (
        (graph, Graph),
        (meta_info_def, meta_graph_pb2.MetaGraphDef.MetaInfoDef),
        (graph_def, graph_pb2.GraphDef),
        (saver_def, saver_pb2.SaverDef),
    ):
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"Expected an object of type {kind.__name__}, got {type(value)}.")
    graph = graph or get_default_graph()
    found = meta_graph_pb2.MetaGraphDef()
    if meta_info_def is not None:
        found.meta_info_def.MergeFrom(meta_info_def)
    found.meta_info_def.tensorflow_version = VERSION
    found.meta_info_def.tensorflow_git_version = "tfnb"
    found.graph_def.MergeFrom(graph_def or graph.as_graph_def(add_shapes=True))
    if not found.meta_info_def.HasField("stripped_op_list"):
        found.meta_info_def.stripped_op_list.MergeFrom(stripped_op_list_for_graph(found.graph_def))
    if strip_default_attrs:
        strip_default_valued_attrs(found)
    if saver_def is not None:
        found.saver_def.MergeFrom(saver_def)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        contents = None
        if clear_extraneous_savers and key == GraphKeys.SAVERS and saver_def is not None:
            contents = [Saver.from_proto(saver_def)]
        add_collection_def(found, key, graph, export_scope, excluded, contents)
    return found


def stripped_op_list_for_graph(graph_def: graph_pb2.GraphDef) -> op_def_pb2.OpList:
    """Return the definitions of the ops that a graph and its functions use."""
    functions = {function.signature.name for function in graph_def.library.function}
    used = {node.op for node in graph_def.node}
    for function in graph_def.library.function:
        used.update(node.op for node in function.node_def)
    definitions = [op_registry.find(name) for name in sorted(used - functions)]
    return op_def_pb2.OpList(op=[op_def_to_proto(one.op_def) for one in definitions if one])


def strip_default_valued_attrs(meta_graph_def: meta_graph_pb2.MetaGraphDef) -> None:
    """Remove attributes with default values, so that older readers accept the rest."""
    library = meta_graph_def.graph_def.library.function
    functions = {function.signature.name for function in library}
    nodes = [*meta_graph_def.graph_def.node]
    for function in library:
        nodes += function.node_def
    for node in nodes:
        definition = None if node.op in functions else op_registry.find(node.op)
        if definition is None:
            continue
        for attr in op_def_to_proto(definition.op_def).attr:
            if (
                attr.HasField("default_value")
                and attr.name in node.attr
                and _same_value(node.attr[attr.name], attr.default_value)
            ):
                del node.attr[attr.name]
    meta_graph_def.meta_info_def.stripped_default_attrs = True


def _same_value(one: TensorLike, other: TensorLike) -> bool:
    if one == other:
        return True
    if one.WhichOneof("value") != other.WhichOneof("value") or one.HasField("tensor"):
        return False
    return bool(decode_attr(one) == decode_attr(other))


def _part_of(
    graph_def: graph_pb2.GraphDef,
    export_scope: str | None,
    excluded: Collection[str],
    clear_devices: bool,
    unbound: list[str],
) -> Any:
    """Return the nodes of a scope, with their names inside of it."""
    found = graph_pb2.GraphDef()
    found.versions.CopyFrom(graph_def.versions)
    if graph_def.HasField("library"):
        found.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if is_included(node.name, export_scope, excluded):
            copy = found.node.add()
            copy.CopyFrom(node)
            if clear_devices:
                copy.device = ""
            if export_scope:
                _strip_node(copy, export_scope, unbound)
    return found


def _strip_node(node: Any, export_scope: str, unbound: list[str]) -> None:
    for position, name in enumerate(node.input):
        if name.lstrip("^").startswith(export_scope):
            node.input[position] = strip_name_scope(name, export_scope)
        else:
            mark = "^" if name.startswith("^") else ""
            node.input[position] = f"{mark}{UNBOUND_INPUT_PREFIX}{name.removeprefix('^')}"
            unbound.append(node.input[position])
    node.name = strip_name_scope(node.name, export_scope)
    if "_class" in node.attr:
        groups = [
            strip_name_scope(group.decode(), export_scope).encode()
            for group in node.attr["_class"].list.s
            if group.decode().split("@")[-1].startswith(export_scope)
        ]
        node.attr["_class"].list.s[:] = groups
    if node.op in ("Enter", "RefEnter"):
        frame = node.attr["frame_name"].s.decode()
        if frame.startswith(export_scope):
            node.attr["frame_name"].s = strip_name_scope(frame, export_scope).encode()


def _nodes_of_other_savers(
    graph_def: graph_pb2.GraphDef, saver_def: saver_pb2.SaverDef | None
) -> set[str]:
    """Return the nodes in the scopes of savers other than that of ``saver_def``."""
    saving = {node.name for node in graph_def.node if node.op in _SAVING_OPS}
    scopes = {f"{scope}/" for scope in {_scope_of(name) for name in saving} - saving}
    if saver_def is not None:
        for name in (saver_def.save_tensor_name, saver_def.restore_op_name):
            scopes.discard(f"{_scope_of(name)}/")
    prefixes = tuple(scopes)
    return {node.name for node in graph_def.node if node.name.startswith(prefixes)}


def _scope_of(name: str) -> str:
    return name.rpartition("/")[0]


# --------------------------------------------------------------------------------------- importing


def import_meta_graph(
    meta_graph_or_file: PathLike,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: dict[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] | None = None,
) -> Saver | None:
    """Add a MetaGraphDef to the default graph: its nodes, and the items of its collections.

    Args:
      meta_graph_or_file: the message, or the path of a file with one, binary or text.
      clear_devices: whether devices are removed from nodes.
      import_scope: a name scope for all nodes.
      input_map: names of tensors in the message -> the tensors to use instead.
      unbound_inputs_col_name: the collection with the names of inputs that ``input_map`` must map.
      restore_collections_predicate: selects the collections to restore; all of them if None.

    Returns:
      The saver of the graph; None if it has no variables.

    Raises:
      OSError: the file is missing, or is no MetaGraphDef.
      ValueError: inputs from outside are missing, or the graph is invalid.
    """
    return import_meta_graph_with_return_elements(
        meta_graph_or_file,
        clear_devices,
        import_scope,
        input_map=input_map,
        unbound_inputs_col_name=unbound_inputs_col_name,
        restore_collections_predicate=restore_collections_predicate,
    )[0]


def import_meta_graph_with_return_elements(
    meta_graph_or_file: PathLike,
    clear_devices: bool = False,
    import_scope: str | None = None,
    return_elements: Iterable[str] | None = None,
    **kwargs: Any,
) -> tuple[Saver | None, Nested]:
    """Call :func:`import_meta_graph`; also return the requested operations and tensors."""
    meta_graph_def = _as_meta_graph_def(meta_graph_or_file)
    variables, elements = import_scoped_meta_graph_with_return_elements(
        meta_graph_def,
        clear_devices=clear_devices,
        import_scope=import_scope,
        return_elements=return_elements,
        **kwargs,
    )
    return _saver_of(meta_graph_def, import_scope, variables), elements


def _saver_of(
    meta_graph_def: meta_graph_pb2.MetaGraphDef, import_scope: str | None, variables: dict[str, Any]
) -> Any:
    if meta_graph_def.HasField("saver_def"):
        scope = import_scope
        for inside, variable in variables.items():
            # The scope may have got a unique name.
            scope = variable.name[: -len(inside)]
            break
        saver_def = saver_pb2.SaverDef()
        saver_def.CopyFrom(meta_graph_def.saver_def)
        return Saver(saver_def=saver_def, name=scope)
    if all_saveable_objects(scope=import_scope):
        return Saver()
    _log.info("Saver not created because there are no variables in the graph to restore")
    return None


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: PathLike,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: dict[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] | None = None,
    return_elements: Iterable[str] | None = None,
) -> tuple[dict[str, Any], Any]:
    """Add a MetaGraphDef to a graph, the default one if None; see :func:`import_meta_graph`.

    Returns:
      The variables by their names in the message, and the requested ``return_elements``.
    """
    meta_graph_def = _as_meta_graph_def(meta_graph_or_file)
    if unbound_inputs_col_name in meta_graph_def.collection_def:
        _check_unbound(meta_graph_def.collection_def[unbound_inputs_col_name], input_map)
    graph = graph or get_default_graph()
    info = meta_graph_def.meta_info_def
    with graph.as_default():
        graph_def = meta_graph_def.graph_def
        if clear_devices:
            graph_def = graph_pb2.GraphDef()
            graph_def.CopyFrom(meta_graph_def.graph_def)
            for node in graph_def.node:
                node.device = ""
        scope = graph.unique_name(import_scope or "", mark_as_used=False)
        elements = import_graph_def(
            graph_def,
            name=import_scope or scope,
            input_map=input_map,
            producer_op_list=info.stripped_op_list if info.HasField("stripped_op_list") else None,
            return_elements=return_elements,
        )
        predicate = restore_collections_predicate or (lambda key: True)
        restore_collections(
            meta_graph_def,
            graph,
            scope,
            lambda key: key != unbound_inputs_col_name and predicate(key),
            _version(info.tensorflow_version) >= (1, 9),
        )
        variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope)
    return {strip_name_scope(variable.name, scope): variable for variable in variables}, elements


def import_scoped_meta_graph(
    meta_graph_or_file: PathLike,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: dict[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """Add a MetaGraphDef to a graph; return its variables by their names in the message."""
    return import_scoped_meta_graph_with_return_elements(
        meta_graph_or_file, clear_devices, graph, import_scope, input_map,
        unbound_inputs_col_name, restore_collections_predicate,
    )[0]  # fmt: skip


def _check_unbound(collection: Any, input_map: dict[str, Any] | None) -> None:
    names = [
        value.decode() if isinstance(value, bytes) else value
        for value in getattr(collection, collection.WhichOneof("kind")).value
    ]
    if names and (not input_map or sorted(names) != sorted(input_map)):
        raise ValueError(
            f"Graph contains unbound inputs: {','.join(names)}. Must provide these inputs through "
            "input_map."
        )


def _version(text: str) -> tuple[int, ...]:
    """Return ``(1, 8)`` for ``"1.8.0-rc1"``; an unknown version counts as new."""
    numbers = re.match(r"(\d+)\.(\d+)", text)
    return (99, 0) if numbers is None else (int(numbers[1]), int(numbers[2]))


def _as_meta_graph_def(meta_graph_or_file: PathLike) -> Any:
    if isinstance(meta_graph_or_file, meta_graph_pb2.MetaGraphDef):
        return meta_graph_or_file
    descriptor = getattr(meta_graph_or_file, "DESCRIPTOR", None)
    if getattr(descriptor, "full_name", None) == meta_graph_pb2.MetaGraphDef.DESCRIPTOR.full_name:
        return meta_graph_pb2.MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    return read_meta_graph_file(os.fspath(meta_graph_or_file))


def read_meta_graph_file(filename: str) -> Any:
    """Return the MetaGraphDef of a file, binary or text.

    Raises:
      OSError: the file is missing, or is no MetaGraphDef.
    """
    found = meta_graph_pb2.MetaGraphDef()
    try:
        contents = file_system.read_file(filename)
    except errors.NotFoundError:
        raise OSError(f"File does not exist. Received: {filename}.") from None
    try:
        found.ParseFromString(contents)
        return found
    except DecodeError:
        found.Clear()
    try:
        text_format.Merge(contents.decode(), found)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise OSError(f"Cannot parse file {filename}: {error}.") from None
    return found
