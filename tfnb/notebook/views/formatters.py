"""Rich displays of graphs, tensors, operations and sessions, registered with the shell.

A display never evaluates anything, and every name is escaped, because a graph may come from an
untrusted file. A graph shows a picture and a text, the others a table and a text.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from tfnb.client.debugger.run_difference import RunDifference
from tfnb.client.model import Model
from tfnb.client.session.session import BaseSession
from tfnb.common_runtime.session.partial_run import PartialRunState
from tfnb.framework.graph import Graph
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor
from tfnb.notebook.pictures.partial_run_svg import partial_run_svg
from tfnb.notebook.pictures.run_difference_svg import run_difference_svg, run_difference_text
from tfnb.notebook.scenes.attr_text import cut, device_label, one_line
from tfnb.notebook.scenes.function_bodies import with_bodies
from tfnb.notebook.scenes.graph_scene import describe_graph, operation_attrs, tensor_shape_text
from tfnb.notebook.scenes.scene import Scene, build_scene
from tfnb.notebook.scenes.scene_svg import scene_svg
from tfnb.notebook.scenes.scene_text import scene_text
from tfnb.notebook.views.display_table import HEAD, TABLE
from tfnb.notebook.views.model import model_html, model_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MAX_ATTRS = 16
_MAX_TEXT_LINES = 40

_KEY = (
    "text-align:left;font-weight:400;padding:1px 14px 1px 0;vertical-align:top;"
    "color:var(--jp-ui-font-color2,#667085)"
)
_CELL = "text-align:left;padding:1px 0;vertical-align:top;overflow-wrap:anywhere"


class Formatters:
    """The displays of one shell; :meth:`remove` restores the previous ones."""

    def __init__(self, shell: Any) -> None:
        self._formatters = shell.display_formatter.formatters
        self._undo: list[tuple[Any, type, Any]] = []

    def install(self) -> None:
        """Register the displays."""
        self._register("image/svg+xml", Graph, graph_svg)
        self._register("text/plain", Graph, _pretty(graph_text))
        self._register("image/svg+xml", PartialRunState, partial_run_svg)
        self._register("text/plain", PartialRunState, _pretty(str))
        self._register("image/svg+xml", RunDifference, run_difference_svg)
        self._register("text/plain", RunDifference, _pretty(run_difference_text))
        self._register("text/html", Model, model_html)
        self._register("text/plain", Model, _pretty(model_text))
        self._register("text/html", Tensor, _html(tensor_rows))
        self._register("text/plain", Tensor, _pretty(tensor_text))
        self._register("text/html", Operation, _html(operation_rows))
        self._register("text/plain", Operation, _pretty(operation_text))
        self._register("text/html", BaseSession, _html(session_rows))
        self._register("text/plain", BaseSession, _pretty(session_text))

    def remove(self) -> None:
        """Remove the displays."""
        for formatter, kind, before in reversed(self._undo):
            if before is None:
                formatter.pop(kind, None)
            else:
                formatter.for_type(kind, before)
        self._undo.clear()

    def _register(self, mime: str, kind: type, show: Callable[..., Any]) -> None:
        formatter = self._formatters[mime]
        self._undo.append((formatter, kind, formatter.for_type(kind, show)))


def _pretty(text: Callable[[Any], str]) -> Callable[[Any, Any, bool], None]:
    def show(value: Any, printer: Any, cycle: bool) -> None:
        # Inside a list or a dict, use the usual short form.
        is_alone = not printer.stack[:-1] if hasattr(printer, "stack") else True
        printer.text(text(value) if is_alone else repr(value))

    return show


Rows = tuple[str, list[tuple[str, str]]]


def _html(rows: Callable[[Any], Rows]) -> Callable[[Any], str]:
    def show(value: Any) -> str:
        title, pairs = rows(value)
        return _table(title, pairs)

    return show


def _table(title: str, pairs: Iterable[tuple[str, str]]) -> str:
    body = "".join(
        f'<tr style="background:none"><td style="{_KEY}">{escape(key)}</td>'
        f'<td style="{_CELL}">{escape(cut(value))}</td></tr>'
        for key, value in pairs
    )
    head = f'<tr style="background:none"><th colspan="2" style="{HEAD}">{escape(title)}</th></tr>'
    return f'<table style="{TABLE}">{head}{body}</table>'


def _plain(title: str, pairs: list[tuple[str, str]]) -> str:
    width = max((len(key) for key, _ in pairs), default=0)
    lines = [f"  {key.ljust(width)}  {one_line(cut(value))}" for key, value in pairs]
    return "\n".join([one_line(title), *lines])


# -- displays ------------------------------------------------------------------------------------


def tensor_rows(tensor: Tensor) -> Rows:
    """Return a tensor's rows: dtype, static shape, its operation, and its consumers."""
    op = tensor.op
    rows = [
        ("dtype", tensor.dtype.name),
        ("shape", tensor_shape_text(tensor)),
        ("op", f"{op.name} ({op.type})" if op.name != op.type else op.type),
    ]
    if op.device:
        rows.append(("device", op.device))
    consumers = [consumer.name for consumer in tensor.consumers()]
    if consumers:
        rows.append(("goes to", ", ".join(consumers[:8]) + _more(len(consumers) - 8)))
    rows += _made_at(op)
    return f"Tensor {tensor.name}", rows


def tensor_text(tensor: Tensor) -> str:
    """Return a tensor's text in one line."""
    return one_line(
        f"<Tensor '{tensor.name}' shape={tensor_shape_text(tensor)} dtype={tensor.dtype.name}>"
    )


def operation_rows(op: Operation) -> Rows:
    """Return an operation's rows: type, inputs, outputs, attrs, device, and creating line."""
    rows = [("op", op.type)]
    rows += [(f"input {i}", _port(tensor)) for i, tensor in enumerate(op.inputs)]
    if op.control_inputs:
        rows.append(("after", ", ".join(control.name for control in op.control_inputs)))
    rows += [(f"output {i}", _port(tensor)) for i, tensor in enumerate(op.outputs)]
    attrs = operation_attrs(op)
    rows += attrs[:_MAX_ATTRS]
    if len(attrs) > _MAX_ATTRS:
        rows.append(("…", f"{len(attrs) - _MAX_ATTRS} more attrs"))
    if op.device:
        rows.append(("device", op.device))
    rows += _made_at(op)
    return f"Operation {op.name}", rows


def operation_text(op: Operation) -> str:
    """Return an operation's text in a few lines."""
    title, rows = operation_rows(op)
    return _plain(title, rows)


def session_rows(session: BaseSession) -> Rows:
    """Return a session's rows: its state, devices and graph."""
    name = type(session).__name__
    if session.is_closed:
        return name, [("state", "closed")]
    devices = [device.name for device in session.list_devices()]
    graph = session.graph
    rows = [
        ("state", "open"),
        ("target", session.sess_str or "this process"),
        ("devices", ", ".join(device_label(device) for device in devices)),
        ("graph", f"{len(graph.get_operations()):,} operations"),
    ]
    return name, rows


def session_text(session: BaseSession) -> str:
    """Return a session's text in a few lines."""
    title, rows = session_rows(session)
    return _plain(title, rows)


def graph_svg(graph: Graph) -> str | None:
    """Return a graph's static picture; None for an empty graph."""
    return scene_svg(_scene(graph)) if graph.get_operations() else None


def graph_text(graph: Graph) -> str:
    """Return a graph as a tree of scopes."""
    return scene_text(_scene(graph), _MAX_TEXT_LINES)


def _scene(graph: Graph) -> Scene:
    return build_scene(with_bodies(describe_graph(graph), graph), title="graph")


def _port(tensor: Tensor) -> str:
    return f"{tensor.name}  {tensor.dtype.name} {tensor_shape_text(tensor)}"


def _made_at(op: Operation) -> list[tuple[str, str]]:
    site = op.creation_site
    if site is None:
        return []
    return [("made at", f"{site}: {site.text}" if site.text else str(site))]


def _more(count: int) -> str:
    return f", {count} more" if count > 0 else ""
