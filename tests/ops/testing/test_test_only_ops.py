"""``tfnb.testing.register_test_ops``: TensorFlow's test-only ops, on request."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfnb as tf
from tests.ops.op_def_text import op_def_line
from tfnb.core import op_registry
from tfnb.core.op_def_proto import op_def_to_proto

_LINES = {
    line.split("(", 1)[0]: line
    for line in (Path(__file__).parents[2] / "golden" / "op_defs.txt").read_text().splitlines()
}


def test_they_are_there_only_on_request() -> None:
    """The ops are removed at the end of the block."""
    assert op_registry.find("FloatInput") is None
    with tf.testing.register_test_ops() as ops:
        assert op_registry.find("FloatInput") is not None
        assert len(ops.names) > 100
    assert op_registry.find("FloatInput") is None
    ops.remove()


def test_their_definitions_are_tensorflows() -> None:
    """Names, order, types, allowed values, defaults and flags."""
    with tf.testing.register_test_ops() as ops:
        for name in ops.names:
            assert op_def_line(op_def_to_proto(ops[name].op_def)) == _LINES[name]


def test_graphs_of_them_are_built_written_and_read() -> None:
    """They cannot run, because they have no kernel."""
    with tf.testing.register_test_ops() as ops, tf.Graph().as_default() as graph:
        number = ops["IntOutput"](name="number")
        ops["IntInput"](number, name="sink")
        ops["None"](name="nothing")
        listed = ops["ListOutput"](T=[tf.int32, tf.float32], name="listed")
        ops["ListInput"]([number, listed[0]], name="both")
        with pytest.raises(TypeError, match="int32"):
            ops["IntInput"](1.5)
        graph_def = graph.as_graph_def()
        with tf.Graph().as_default() as other:
            tf.import_graph_def(graph_def, name="")
            assert [op.type for op in other.get_operations()] == [
                "IntOutput", "IntInput", "None", "ListOutput", "ListInput",
            ]  # fmt: skip
        with tf.Session() as sess, pytest.raises(tf.errors.OpError, match="IntOutput"):
            sess.run(number)


def test_what_others_registered_is_left_alone() -> None:
    """A second call adds and removes nothing."""
    with tf.testing.register_test_ops():
        with tf.testing.register_test_ops() as second:
            assert second.names == ()
        assert op_registry.find("FloatInput") is not None
