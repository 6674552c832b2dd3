"""The display of a model in a cell: inputs, outputs, size, ops, a picture, a call that runs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tfnb.client.model_summary import describe
from tfnb.notebook.pictures.summary_svg import bytes_text
from tfnb.notebook.scenes.attr_text import cut, one_line
from tfnb.notebook.scenes.graph_scene import describe_graph
from tfnb.notebook.scenes.scene import build_scene
from tfnb.notebook.scenes.scene_svg import scene_svg
from tfnb.notebook.views.display_table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.client.model import Model
    from tfnb.client.model_tensor import ModelTensor

_MAX_ROWS = 12
_MAX_OPS = 8
# Layout of larger graphs takes longer than a display may.
_MAX_DRAWN = 20_000
_CODE = (
    "font-family:var(--jp-code-font-family,monospace);font-size:12px;margin:4px 0;"
    "white-space:pre-wrap"
)


def model_table(model: Model) -> Table:
    """Return the table of a model's inputs and outputs, with its size and a call that runs."""
    rows = [*_rows("input", model.inputs), *_rows("output", model.outputs)]
    text = "\n".join(
        [one_line(repr(model)), *map(one_line, _notes(model)), one_line(model.example_source())]
    )
    return Table(repr(model), ["", "name", "type", "shape", "tensor"], rows, _notes(model), text)


def model_html(model: Model) -> str:
    """Return a model as HTML; every name of the file is escaped."""
    picture = ""
    if 0 < len(model.graph.get_operations()) <= _MAX_DRAWN:
        drawn = scene_svg(build_scene(describe_graph(model.graph), title="graph"))
        picture = f'<div style="overflow-x:auto;max-height:420px">{drawn}</div>'
    code = f'<pre style="{_CODE}">{escape(cut(model.example_source()))}</pre>'
    return f"{model_table(model).html()}{code}{picture}"


def model_text(model: Model) -> str:
    """Return a model as a few lines of text."""
    return model_table(model).text


def _rows(side: str, tensors: Mapping[str, ModelTensor]) -> list[list[str]]:
    rows = [
        [side, one.key, one.dtype.name, str(one.shape), one.name]
        for one in list(tensors.values())[:_MAX_ROWS]
    ]
    if len(tensors) > _MAX_ROWS:
        rows.append([side, f"… {len(tensors) - _MAX_ROWS:,} more", "", "", ""])
    return rows


def _notes(model: Model) -> list[str]:
    found = describe(model.loaded.model)
    ops = list(found["ops"].items())
    told = ", ".join(f"{count:,} {op}" for op, count in ops[:_MAX_OPS])
    more = f", {len(ops) - _MAX_OPS} more" if len(ops) > _MAX_OPS else ""
    variables = f", {len(found['variables']):,} variables" if found["variables"] else ""
    notes = [
        f"{found['kind']}, {bytes_text(model.num_bytes)}, {found['nodes']:,} nodes{variables}",
        f"ops: {told}{more}",
    ]
    if model.signatures:
        names = [f"{key} ({one.described()})" for key, one in model.signatures.items()]
        shown = "; ".join(names[:_MAX_ROWS])
        more = f"; {len(names) - _MAX_ROWS} more" if len(names) > _MAX_ROWS else ""
        notes.append(f"signatures: {shown}{more}")
    if found["effects"]:
        kinds = ", ".join(sorted(found["effects"]))
        notes.append(f"effects that need permission: {kinds}; see model.summary()")
    if found["unknown_ops"]:
        notes.append(f"ops that tfnb does not know: {', '.join(found['unknown_ops'][:_MAX_OPS])}")
    return notes
