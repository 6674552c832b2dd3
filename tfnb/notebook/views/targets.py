"""Resolves a view's target: finds the graph, the session and the signature that a user means.

A target may be an object (graph, session, tensor, operation, variable, path, or a message with a
graph), or a text: the name of such an object in the notebook, a file with a graph, or the name of a
node or a scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfnb.client.model import Model
from tfnb.client.session.session import BaseSession, live_sessions
from tfnb.core.process.collector_pause import without_collector
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.default_session import get_default_session
from tfnb.framework.graph import Graph
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor
from tfnb.notebook.scenes.function_bodies import with_bodies
from tfnb.notebook.scenes.graph_file_scene import describe_file
from tfnb.notebook.scenes.graph_scene import describe_graph
from tfnb.notebook.scenes.node_notes import passes_by_node
from tfnb.notebook.scenes.scene import Scene, build_scene
from tfnb.notebook.steps.run_costs import latest_record, with_costs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.core.step_events import (
        PartitionedGraph,
        PlacedGraph,
        PlacementView,
        StepEvents,
    )
    from tfnb.proto.graph_pb2 import NodeDef

GRAPH_FILES = (".pb", ".pbtxt", ".pbtext", ".meta")
_SAVED_MODEL = "saved_model.pb"


class TargetError(ValueError):
    """Raised for a target that cannot be shown; the message tells what to do instead."""


@dataclass(frozen=True, slots=True)
class Target:
    """A graph, a file or a message, and the selected node or scope in it."""

    graph: Graph | None
    file: Path | None = None
    message: Any = None
    selected: str = ""
    session: BaseSession | None = None

    def graph_def(self) -> Any:
        """Return the GraphDef of a file or a message; None for a graph."""
        return self.message if self.file is None else _read_graph_def(self.file)

    def scene(self) -> Scene:
        """Return the scene of the whole graph."""
        graph_def = self.graph_def()
        if graph_def is not None:
            title = "graph" if self.file is None else self.file.name
            with without_collector(len(graph_def.node)):
                return build_scene(describe_file(graph_def), title=title)
        assert self.graph is not None
        with without_collector(self.graph.version):
            placements, passes = _runtime_notes(self.graph)
            nodes = describe_graph(self.graph, placements, passes)
            nodes = with_bodies(nodes, self.graph, placements)
            return build_scene(with_costs(nodes, latest_record(self.graph)), title="graph")


@dataclass(frozen=True, slots=True)
class SignatureViews:
    """The runtime's views of one signature of a session."""

    session: BaseSession
    placed: PlacedGraph | None
    partitioned: PartitionedGraph


def find_target(target: Any = None, namespace: Mapping[str, Any] | None = None) -> Target:
    """Return the requested graph; without a target, the one that the next ``run`` would use.

    Raises:
      TargetError: no object has that kind or name.
    """
    if target is None or target == "":
        session = get_default_session()
        graph = get_default_graph()
        if isinstance(session, BaseSession) and not graph.get_operations():
            graph = session.graph
        return Target(graph)
    if isinstance(target, str):
        return _find_by_text(target, namespace or {})
    if isinstance(target, Path):
        return _file(target)
    found = _graph_of(target)
    if found is None:
        raise TargetError(
            f"A {type(target).__name__} has no graph to show; give a Graph, Session, Tensor, "
            "Operation, GraphDef or the path of a file with a graph."
        )
    return found


def nodes_of(target: Any, namespace: Mapping[str, Any]) -> list[NodeDef]:
    """Return the nodes of a target's graph or file.

    Raises:
      TargetError: there is no such graph.
    """
    found = find_target(target, namespace)
    graph_def = found.graph_def()
    if graph_def is not None:
        return list(graph_def.node)
    assert found.graph is not None
    return list(found.graph.as_graph_def().node)


def _find_by_text(text: str, namespace: Mapping[str, Any]) -> Target:
    if text in namespace:
        found = _graph_of(namespace[text])
        if found is not None:
            return found
        if isinstance(namespace[text], str | Path):
            return find_target(namespace[text])
    if text.endswith(GRAPH_FILES) or _is_saved_model(Path(text)):
        return _file(Path(text))
    graph = find_target().graph
    assert graph is not None
    name = text.removesuffix(":0").rstrip("/")
    prefix = f"{name}/"
    for op in graph.get_operations():
        if op.name == name:
            return Target(graph, selected=name)
    for op in graph.get_operations():
        if op.name.startswith(prefix):
            return Target(graph, selected=op.name)
    raise TargetError(
        f"'{text}' is neither a variable with a graph, nor a file, nor a node or scope of the "
        f"default graph, which has {len(graph.get_operations())} nodes."
    )


def _graph_of(value: Any) -> Target | None:
    if isinstance(value, Graph):
        return Target(value)
    if isinstance(value, Model):
        return Target(value.graph)
    if isinstance(value, BaseSession):
        return Target(value.graph, session=value)
    if isinstance(value, Tensor):
        return Target(value.graph, selected=value.op.name)
    if isinstance(value, Operation):
        return Target(value.graph, selected=value.name)
    op = getattr(value, "op", None)  # variables, IndexedSlices
    if isinstance(op, Operation):
        return Target(op.graph, selected=op.name)
    return _of_message(value)


def _of_message(value: Any) -> Target | None:
    """Return the graph of a GraphDef, MetaGraphDef or SavedModel, of this package or another."""
    from tfnb.proto import graph_pb2, meta_graph_pb2, saved_model_pb2

    name = getattr(getattr(value, "DESCRIPTOR", None), "full_name", "")
    for kind in (graph_pb2.GraphDef, meta_graph_pb2.MetaGraphDef, saved_model_pb2.SavedModel):
        if name == kind.DESCRIPTOR.full_name and not isinstance(value, type):
            ours = value if isinstance(value, kind) else kind.FromString(value.SerializeToString())
            return Target(None, message=_graph_def_in(ours) or graph_pb2.GraphDef())
    return None


def _is_saved_model(folder: Path) -> bool:
    try:
        return (folder / _SAVED_MODEL).is_file()
    except (OSError, ValueError):  # not a path, for example too long
        return False


def _file(path: Path) -> Target:
    if _is_saved_model(path):
        path /= _SAVED_MODEL
    if not path.is_file():
        raise TargetError(f"There is no file '{path}'.")
    return Target(None, file=path)


def _read_graph_def(path: Path) -> Any:
    """Read a GraphDef, binary or text, or the graph of a MetaGraphDef or SavedModel."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    from tfnb.proto import graph_pb2, meta_graph_pb2, saved_model_pb2

    data = path.read_bytes()
    is_text = path.suffix in (".pbtxt", ".pbtext")
    for message in (
        graph_pb2.GraphDef(),
        saved_model_pb2.SavedModel(),
        meta_graph_pb2.MetaGraphDef(),
    ):
        try:
            if is_text:
                text_format.Parse(data, message)
            else:
                message.ParseFromString(data)
        except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError):
            continue
        graph_def = _graph_def_in(message)
        if graph_def is not None and graph_def.node:
            return graph_def
    raise TargetError(f"'{path}' holds no GraphDef, MetaGraphDef or SavedModel.")


def _graph_def_in(message: Any) -> Any:
    if hasattr(message, "meta_graphs"):
        return message.meta_graphs[0].graph_def if message.meta_graphs else None
    return getattr(message, "graph_def", message)


def _runtime_notes(
    graph: Graph,
) -> tuple[dict[str, PlacementView], dict[str, tuple[str, ...]]]:
    """Return the placements of a graph's nodes in open sessions, and the passes' notes on them.

    If several sessions are open, the default one takes precedence.
    """
    sessions = [session for session in live_sessions() if session.graph is graph]
    sessions.sort(key=lambda session: session is get_default_session())
    found: dict[str, PlacementView] = {}
    passes: dict[str, tuple[str, ...]] = {}
    for session in sessions:
        events = events_of(session)
        for placed, _ in events.signatures() if events is not None else ():
            if placed is not None:
                found.update((view.node, view) for view in placed.placements)
                passes.update(passes_by_node(placed.passes))
    return found, passes


# -- signatures ------------------------------------------------------------------------------------


def session_of(events: StepEvents) -> BaseSession | None:
    """Return the open session whose runtime reports these events."""
    for session in live_sessions():
        if events_of(session) is events:
            return session
    return None


def events_of(session: BaseSession) -> StepEvents | None:
    """Return the events of a session's runtime; None if it does not run in this process."""
    return getattr(session.runtime, "step_events", None)


def signatures_of(
    session: BaseSession,
) -> list[tuple[PlacedGraph | None, PartitionedGraph | None]]:
    """Return the signatures of a session that are known, oldest first."""
    events = events_of(session)
    if events is None:
        return []
    session.runtime.report_signatures()
    return events.signatures()


def find_signature(
    fetch: Any = None,
    namespace: Mapping[str, Any] | None = None,
    session: BaseSession | None = None,
) -> SignatureViews:
    """Return the signature of the last run, or the one that fetches ``fetch``; runs nothing.

    A signature that no run has used yet is prepared.

    Raises:
      TargetError: nothing ran yet, or there is no such fetch or no session to place it.
    """
    if isinstance(fetch, BaseSession):
        fetch, session = None, fetch
    if isinstance(fetch, str) and fetch:
        fetch = _fetch_named(fetch, namespace or {})
        if isinstance(fetch, BaseSession):
            fetch, session = None, fetch
    if fetch is None or fetch == "":
        return _last_signature(session)
    names = _names_of(fetch)
    candidates = _sessions_for(fetch) if session is None else [session]
    ran = (_signature_of(one, names) for one in candidates)
    return next((one for one in ran if one is not None), None) or _prepare(
        candidates[0], fetch, names
    )


def _fetch_named(text: str, namespace: Mapping[str, Any]) -> Any:
    value = namespace.get(text)
    if isinstance(value, Tensor | Operation | BaseSession | list | tuple):
        return value
    target = _find_by_text(text, namespace)
    if target.graph is None or not target.selected:
        raise TargetError(f"'{text}' is not a tensor or an operation.")
    return target.graph.get_operation_by_name(target.selected)


def _names_of(fetch: Any) -> tuple[list[str], list[str]]:
    """Return the names of fetched tensors and of target operations in a fetch."""
    tensors: list[str] = []
    targets: list[str] = []
    for element in fetch if isinstance(fetch, list | tuple) else [fetch]:
        if isinstance(element, Tensor):
            tensors.append(element.name)
        elif isinstance(element, Operation):
            targets.append(element.name)
        else:
            op = getattr(element, "op", None)
            if not isinstance(op, Operation):
                raise TargetError(f"A {type(element).__name__} cannot be fetched.")
            targets.append(op.name)
    return tensors, targets


def _sessions_for(fetch: Any) -> list[BaseSession]:
    """Return the sessions that run a fetch's graph, the default one first.

    Raises:
      TargetError: there is none.
    """
    first = fetch[0] if isinstance(fetch, list | tuple) else fetch
    graph = first.graph if hasattr(first, "graph") else first.op.graph
    default = get_default_session()
    candidates = [default] if isinstance(default, BaseSession) else []
    found = [
        session
        for session in dict.fromkeys([*candidates, *live_sessions()])
        if session.graph is graph and events_of(session) is not None
    ]
    if found:
        return found
    raise TargetError("No open session of this process runs that graph; open one to place it.")


def _signature_of(
    session: BaseSession, names: tuple[list[str], list[str]]
) -> SignatureViews | None:
    tensors, targets = map(set, names)
    for placed, partitioned in reversed(signatures_of(session)):
        if partitioned is None:
            continue
        if tensors <= set(partitioned.fetches) and targets <= set(partitioned.targets):
            return SignatureViews(session, placed, partitioned)
    return None


def _prepare(
    session: BaseSession, fetch: Any, names: tuple[list[str], list[str]]
) -> SignatureViews:
    tensors, targets = names
    session.extend_graph()
    session.runtime.prepare((), tuple(tensors), tuple(targets))
    found = _signature_of(session, names)
    if found is None:
        raise TargetError(f"The session does not tell how it would run {fetch!r}.")
    return found


def _last_signature(session: BaseSession | None) -> SignatureViews:
    """Return the signature that ran last; if none ran, the newest one."""
    default = get_default_session()
    sessions = [session] if session is not None else live_sessions()
    if session is None and isinstance(default, BaseSession):
        sessions = [default, *sessions]
    latest = max((_last_run_of(one) for one in sessions), default=(0, 0))
    newest = None
    for candidate in sessions:
        for placed, partitioned in reversed(signatures_of(candidate)):
            if partitioned is None:
                continue
            views = SignatureViews(candidate, placed, partitioned)
            if partitioned.signature_id == latest[1]:
                return views
            newest = newest or views
    if newest is None:
        raise TargetError("Nothing has run yet: run something first, or name the fetch to show.")
    return newest


def _last_run_of(session: BaseSession) -> tuple[int, int]:
    """Return the ids of a session's latest step and of its signature; 0 for none."""
    found: tuple[int, int] = session.runtime.last_run()
    return found
