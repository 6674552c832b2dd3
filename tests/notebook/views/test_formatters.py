"""Rich displays are useful and escaped, and evaluate nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.framework.importing.importer import import_graph_def
from tfnb.proto import graph_pb2, types_pb2

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "<img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """The tags and attributes of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes a tag."""
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


def bundle(shell: Any, value: Any) -> dict[str, Any]:
    """Return the formats that a notebook would store for a value."""
    data: dict[str, Any] = shell.display_formatter.format(value)[0]
    return data


def hostile_tensor() -> Any:
    """Return a tensor of a loaded op with markup as name, attribute and device."""
    graph_def = graph_pb2.GraphDef()
    node = graph_def.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = types_pb2.DT_FLOAT
    node.attr["_note"].s = HOSTILE.encode()
    import_graph_def(graph_def, name="")
    tensor = tf.get_default_graph().get_tensor_by_name("x:0")
    tensor.op.name = HOSTILE  # what no check of ours would let through
    return tensor


def test_a_tensor_tells_dtype_shape_and_op(loaded: Any) -> None:
    """The display is a line of text and a small table."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    found = bundle(loaded, x)

    assert found["text/plain"] == "<Tensor 'x:0' shape=(?, 3) dtype=float32>"
    assert "(?, 3)" in found["text/html"]
    assert Tags(found["text/html"]).tags == {"table", "tr", "th", "td"}


def test_displaying_evaluates_nothing(loaded: Any) -> None:
    """Displays run no step."""
    x = tf.constant(1.0) + 2.0
    session = tf.get_default_session()
    for value in (x, x.op, session, tf.get_default_graph()):
        bundle(loaded, value)

    assert session.runtime.step_events.signatures() == []


@pytest.mark.parametrize("of", ["tensor", "operation"])
def test_hostile_names_and_attrs_are_text(loaded: Any, of: str) -> None:
    """Markup in a loaded graph runs no code in the browser."""
    tensor = hostile_tensor()
    text = bundle(loaded, tensor if of == "tensor" else tensor.op)["text/html"]

    found = Tags(text)
    assert found.tags == {"table", "tr", "th", "td"}
    assert found.attributes == {"style", "colspan"}
    assert "&lt;img" in text


def test_a_graph_is_a_picture_and_a_text(loaded: Any) -> None:
    """There is no text/html, which an untrusted notebook would show instead of the picture."""
    with tf.name_scope("scope"):
        tf.constant(1.0, name="x")
    hostile_tensor()
    found = bundle(loaded, tf.get_default_graph())

    assert set(found) == {"text/plain", "image/svg+xml"}
    assert ET.fromstring(found["image/svg+xml"]).tag.endswith("svg")
    assert found["text/plain"].startswith("graph: 2 nodes")


def test_an_empty_graph_is_a_text(loaded: Any) -> None:
    """An empty graph is displayed without an error."""
    assert bundle(loaded, tf.Graph()) == {"text/plain": "graph: 0 nodes, 0 edges"}


def test_an_operation_tells_all_that_is_known(loaded: Any) -> None:
    """The display has inputs, outputs, attrs, device and the line that made it."""
    loaded.run_cell(
        "with tf.device('/CPU:0'):\n    y = tf.matmul(tf.ones([2, 3]), tf.ones([3, 4]), name='y')",
        store_history=True,
    )
    text = bundle(loaded, loaded.user_ns["y"].op)["text/plain"]

    assert "op           MatMul" in text
    assert "output 0     y:0  float32 (2, 4)" in text
    assert "transpose_a  False" in text
    assert "CPU:0" in text
    assert f"cell {loaded.execution_count - 1}, line 2: y = tf.matmul" in text


def test_a_session_tells_devices_and_state(loaded: Any) -> None:
    """A closed session is displayed as well."""
    session = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))
    assert "CPU:0, CPU:1" in bundle(loaded, session)["text/plain"]
    session.close()

    assert "closed" in bundle(loaded, session)["text/plain"]


def test_inside_a_list_the_short_form_is_kept(loaded: Any) -> None:
    """A list of operations is displayed in one line each, not as tables."""
    x = tf.constant(1.0, name="x")

    assert bundle(loaded, [x.op])["text/plain"] == f"[{x.op!r}]"


# -- models


def test_a_model_shows_inputs_outputs_size_ops_and_a_call_that_runs(
    loaded: Any, tmp_path: Path
) -> None:
    """The display has a table, a picture of the graph, and a line of Python."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.reduce_sum(tf.square(x), 1, name="y")
        path = tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False)
    with tf.load(path) as model:
        found = bundle(loaded, model)

        text = found["text/plain"]
        assert text.splitlines()[0] == "<Model g.pb: x float32 (?, 2) -> y float32 (?,)>"
        assert "1 Square" in text
        assert "GraphDef, " in text
        assert eval(text.splitlines()[-1], {"np": np, "model": model}).tolist() == [0.0]
        shown = found["text/html"]
        assert {"table", "pre", "svg"} <= Tags(shown).tags
        assert "model(x=np.zeros((1, 2), &#x27;float32&#x27;))" in shown
        assert repr([model]).startswith("[<Model g.pb")


def test_a_strangers_model_is_escaped(loaded: Any, tmp_path: Path) -> None:
    """Names, keys of signatures and the name of the file are text."""
    meta_graph = tf.MetaGraphDef()
    node = meta_graph.graph_def.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = types_pb2.DT_FLOAT
    meta_graph.graph_def.node.add(name="y", op="Identity", input=["x"]).attr["T"].type = 1
    signature = meta_graph.signature_def[HOSTILE]
    signature.inputs[HOSTILE].name = "x:0"
    signature.outputs[HOSTILE].name = "y:0"
    path = tmp_path / "<b>.meta"
    path.write_bytes(meta_graph.SerializeToString())
    found = bundle(loaded, tf.load(path))

    assert not {"img", "b", "script"} & Tags(found["text/html"]).tags
    assert "onerror" not in Tags(found["text/html"]).attributes
    assert len(found["text/plain"].splitlines()) <= 6
