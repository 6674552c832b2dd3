"""The data that a front end shows of a stopped step: plain data, texts limited in length.

``labextension/src/render/debug_panel.ts`` reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.debugger.text_debugger import value_text
from tfnb.notebook.scenes.attr_text import cut_middle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.debugger.breakpoints import Breakpoint
    from tfnb.client.debugger.stop import Stop
    from tfnb.common_runtime.looking.step_inspection import FrameView, NodeView

MAX_NODES = 200
MAX_FRAMES = 60
MAX_VALUES = 24
MAX_READY = 40
_MAX_NAME = 300
_MAX_VALUE = 1200


def stop_view(stop: Stop) -> dict[str, Any]:
    """Return the stop as JSON."""
    values = stop.inputs if stop.phase == "before" else stop.outputs
    frames = stop.frames()
    nodes = stop.nodes()
    return {
        "step": stop.step_id,
        "function": _name(stop.function),
        "device": stop.device,
        "node": stop.node,
        "op": _name(stop.op),
        "phase": stop.phase,
        "isDead": stop.is_dead,
        "reason": _name(stop.reason),
        "loops": [[_name(loop.frame), loop.iteration] for loop in stop.loops],
        "values": [_value(name, value) for name, value in values[:MAX_VALUES]],
        "moreValues": max(0, len(values) - MAX_VALUES),
        "ready": [_name(name) for name in stop.ready[:MAX_READY]],
        "frames": [_frame(frame, stop) for frame in frames[:MAX_FRAMES]],
        "moreFrames": max(0, len(frames) - MAX_FRAMES),
        "nodes": [_node(node, stop) for node in nodes[:MAX_NODES]],
        "moreNodes": max(0, len(nodes) - MAX_NODES),
    }


def breakpoint_views(breakpoints: Sequence[Breakpoint]) -> list[dict[str, Any]]:
    """Return the breakpoints as JSON."""
    return [
        {
            "number": one.number,
            "text": cut_middle(str(one), _MAX_NAME),
            "hits": one.hits,
            "enabled": one.enabled,
        }
        for one in breakpoints
    ]


def _name(text: str) -> str:
    return cut_middle(text, _MAX_NAME)


def _value(name: str, value: Any) -> dict[str, Any]:
    is_array = isinstance(value, np.ndarray | np.generic)
    return {
        "tensor": name,
        "text": cut_middle(value_text(value), _MAX_VALUE),
        "canChange": is_array and value.size <= 16,
    }


def _frame(frame: FrameView, stop: Stop) -> dict[str, Any]:
    is_here = frame.partition == stop.partition and frame.id == stop.frame_id
    return {
        "name": _name(frame.name),
        "device": frame.device,
        "depth": 0 if frame.parent_id < 0 else 1,
        "isHere": is_here,
        "parallel": frame.parallel_iterations,
        "deferred": [_name(name) for name in frame.deferred[:8]],
        "iterations": [
            {
                "number": iteration.number,
                "isHere": is_here and iteration.number == stop.iteration,
                "outstanding": iteration.outstanding_ops,
                "dead": iteration.num_dead,
                "values": iteration.num_values,
            }
            for iteration in frame.iterations
        ],
    }


def _node(node: NodeView, stop: Stop) -> dict[str, Any]:
    return {
        "name": node.name,
        "op": _name(node.op),
        "state": "stands" if node.name == stop.node else str(node.state),
        "pending": node.pending,
        "dead": node.num_dead,
        "entries": [[_name(entry.tensor), str(entry.state)] for entry in node.inputs[:8]],
        "missing": [_name(name) for name in node.missing[:4]],
    }
