"""Graphs from files are described without being imported."""

from __future__ import annotations

from pathlib import Path

from tfnb.notebook.scenes.graph_def_scene import describe_graph_def, dtype_text
from tfnb.notebook.scenes.scene import CONTROL
from tfnb.proto import graph_pb2, types_pb2

MODEL = Path(__file__).parents[3] / "notebooks" / "models" / "digits_conv.pb"


def test_inputs_are_read_in_all_their_forms() -> None:
    """The forms are `x`, `x:1` and `^x`; names of no node are ignored."""
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="x", op="Split")
    graph_def.node.add(name="y", op="Add", input=["x", "x:1", "nowhere", "^x"])

    assert describe_graph_def(graph_def)[1].inputs == ((0, 0), (0, 1), (0, CONTROL))


def test_an_unregistered_op_is_described() -> None:
    """An unregistered op is described, because a picture needs no kernel."""
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="x", op="NoSuchOpAnywhere").attr["k"].i = 7

    (node,) = describe_graph_def(graph_def)
    assert (node.op, node.attrs) == ("NoSuchOpAnywhere", (("k", "7"),))


def test_large_values_are_cut() -> None:
    """A megabyte of text becomes one line."""
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="x", op="Const").attr["value"].s = b"a" * 1_000_000

    ((_, text),) = describe_graph_def(graph_def)[0].attrs
    assert len(text) < 200
    assert text.endswith("more)")


def test_a_constant_tells_dtype_and_shape_without_its_numbers() -> None:
    """The values of the constant are not read."""
    graph_def = graph_pb2.GraphDef()
    graph_def.ParseFromString(MODEL.read_bytes())
    nodes = {node.name: node for node in describe_graph_def(graph_def)}

    filters = nodes["block_1/filters"]
    assert filters.outputs == (("float32", "(3, 3, 1, 16)"),)
    assert dict(filters.attrs)["value"] == "float32 (3, 3, 1, 16)"


def test_dtypes_have_their_usual_names() -> None:
    """DT_FLOAT is float32; an unknown number is shown as a number."""
    assert dtype_text(types_pb2.DT_FLOAT) == "float32"
    assert dtype_text(types_pb2.DT_INT32_REF) == "int32_ref"
    assert dtype_text(9999) == "dtype 9999"
