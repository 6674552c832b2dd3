"""The widget in Python: its messages, and its text where it cannot be shown."""

from __future__ import annotations

from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm

from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.views.widget import SceneWidget


class Wire(BaseComm):
    """A comm that records its messages."""

    sent: list[dict[str, Any]]

    def publish_msg(self, msg_type: str, data: Any = None, *rest: Any, **keys: Any) -> None:
        """Record a message."""
        self.__dict__.setdefault("sent", []).append({"type": msg_type, "data": data or {}})


@pytest.fixture
def widget(monkeypatch: pytest.MonkeyPatch) -> SceneWidget:
    """A widget on a wire of its own."""
    monkeypatch.setattr(comm, "create_comm", Wire)
    return SceneWidget(build_scene([SceneNode("scope/x", "Const")], title="g"))


def test_states_and_counters_are_one_message(widget: SceneWidget) -> None:
    """A picture with any number of changes is one message with buffers."""
    wire = widget.comm
    wire.sent.clear()
    widget.show(build_scene([SceneNode("y", "Neg")]), b"\x13", {"phase": "done"})

    (message,) = wire.sent
    assert set(message["data"]["state"]) == {"_counters"}
    assert sorted(path[0] for path in message["data"]["buffer_paths"]) == ["_scene", "_states"]


def test_states_alone_do_not_send_the_scene_again(widget: SceneWidget) -> None:
    """The graph is sent once."""
    wire = widget.comm
    widget.show(None, b"\x01", {"phase": "running"})
    wire.sent.clear()
    widget.show(None, b"\x13", {"phase": "running"})

    (message,) = wire.sent
    assert message["data"]["buffer_paths"] == [["_states"]]


def test_a_front_end_without_widgets_gets_a_text(widget: SceneWidget) -> None:
    """A notebook without widgets shows a description of the graph."""
    data = widget._repr_mimebundle_()[0]

    assert data["text/plain"] == "g: 1 nodes, 0 edges\n└─ scope/  1 nodes\n   └─ x  Const"
    assert "text/html" not in data
