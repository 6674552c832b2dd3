"""Operations: attributes, NodeDefs, and the changes that control-flow builders make."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.framework.operation import Operation


def test_attributes_come_as_tensorflow_gives_them() -> None:
    """dtypes as DType, text as bytes, shapes and tensors as messages, lists as lists."""
    p = tf.placeholder(tf.float32, [2, None]).op
    c = tf.constant([1, 2]).op
    assert p.get_attr("dtype") is tf.float32
    assert [dim.size for dim in p.get_attr("shape").dim] == [2, -1]
    assert tf.make_ndarray(c.get_attr("value")).tolist() == [1, 2]
    squeeze = tf.squeeze(tf.constant([[1.0]]), [0]).op
    assert squeeze.get_attr("squeeze_dims") == [0]


def test_plain_attributes_need_no_messages() -> None:
    """attr() gives TensorShape and TensorAttr."""
    p = tf.placeholder(tf.float32, [2, None]).op
    assert p.attr("shape").dim_values == (2, None)
    assert tf.constant(3).op.attr("value").value() == 3


def test_a_message_from_get_attr_is_a_copy() -> None:
    """Changing it changes nothing in the graph."""
    op = tf.constant([1, 2]).op
    op.get_attr("value").tensor_shape.dim[0].size = 7
    assert op.get_attr("value").tensor_shape.dim[0].size == 2


def test_a_missing_attribute_is_named() -> None:
    """Operation and attribute stand in the message."""
    with pytest.raises(ValueError, match="Operation 'n' has no attr named 'x'"):
        tf.no_op(name="n").get_attr("x")


def test_attributes_can_be_set_and_cleared() -> None:
    """Messages and plain values; the NodeDef follows."""
    op = tf.no_op()
    op._set_attr("_a", tf.AttrValue(s=b"x"))
    op._set_attr("_b", [1, 2])
    op._set_attr("_c", tf.AttrValue())
    assert (op.get_attr("_a"), op.get_attr("_b"), op.get_attr("_c")) == (b"x", [1, 2], [])
    assert op.node_def.attr["_b"].list.i == [1, 2]
    op._clear_attr("_b")
    assert "_b" not in op.node_def.attr


def test_a_declared_attribute_keeps_its_kind() -> None:
    """No int becomes a dtype."""
    op = tf.negative(tf.constant(1.0)).op
    with pytest.raises(TypeError, match="had value with type 'int' when 'type' expected"):
        op._set_attr("T", tf.AttrValue(i=1))


def test_node_def_says_everything() -> None:
    """The NodeDef has name, op, inputs with ports, control inputs, device and attributes."""
    z, a = tf.no_op(name="z"), tf.no_op(name="a")
    x = tf.constant([1, 2], name="x")
    _, second = tf.unstack(x, name="u")
    with tf.device("/cpu:0"), tf.control_dependencies([z, a]):
        y = tf.add(second, x, name="y")
    node = y.op.node_def
    assert (node.name, node.op, node.device) == ("y", "AddV2", "/device:CPU:0")
    assert list(node.input) == ["u:1", "x", "^z", "^a"]
    assert node.attr["T"].type == tf.int32.as_datatype_enum
    assert y.op.op_def.input_arg[0].name == "x"


def test_node_def_is_the_callers_copy() -> None:
    """Renaming it does not rename the operation."""
    op = tf.no_op(name="n")
    op.node_def.name = "m"
    assert op.node_def.name == "n"
    assert str(op) == str(op.node_def)
    assert repr(op) == "<tf.Operation 'n' type=NoOp>"


def test_node_def_keeps_control_inputs_as_they_were_added() -> None:
    """The message of a graph sorts them, as TensorFlow's does."""
    graph = tf.get_default_graph()
    nodes = [tf.no_op(name=name) for name in "zam"]
    one = tf.constant(1, name="one")
    with tf.control_dependencies(nodes):
        op = tf.identity(one, name="last").op
    last = next(node for node in graph.as_graph_def().node if node.name == "last")
    assert list(op.node_def.input) == ["one", "^z", "^a", "^m"]
    assert list(last.input) == ["one", "^a", "^m", "^z"]
    last.input[:] = ["one", "^m", "^z", "^a"]
    message = graph.as_graph_def()
    message.node[-1].CopyFrom(last)
    tf.import_graph_def(message, name="copy")
    found = graph.get_operation_by_name("copy/last").node_def.input
    assert list(found) == ["copy/one", "^copy/m", "^copy/z", "^copy/a"]


def test_a_constants_message_does_not_follow_the_array() -> None:
    """Writing to an array after a constant was made of it changes nothing."""
    import numpy as np

    array = np.array([1.0, 2.0])
    c = tf.convert_to_tensor(array)
    array[0] = 9
    assert tf.make_ndarray(c.op.get_attr("value")).tolist() == [1.0, 2.0]


def test_an_input_can_be_replaced() -> None:
    """Consumers and NodeDef follow; another dtype or graph is refused."""
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    op = tf.negative(a).op
    assert list(op.node_def.input) == ["a"]
    op._update_input(0, b)
    assert op.inputs == (b,)
    assert (a.consumers(), b.consumers()) == ([], [op])
    assert list(op.node_def.input) == ["b"]
    with pytest.raises(TypeError, match="incompatible with expected float32"):
        op._update_input(0, tf.constant(1))
    with pytest.raises(TypeError, match="tensor must be a Tensor"):
        op._update_input(0, 1.0)
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(ValueError, match="must be from the same graph"):
        op._update_input(0, other)


def test_control_inputs_are_added_once_and_removed_together() -> None:
    """The public list is a copy."""
    a, b, c = (tf.no_op(name=name) for name in "abc")
    c._add_control_inputs([a, b, a])
    c._add_control_input(a)
    c.control_inputs.clear()
    assert c.control_inputs == [a, b]
    assert a._control_outputs == [c]
    c._remove_all_control_inputs()
    assert c.control_inputs == []
    with pytest.raises(TypeError, match="op must be an Operation"):
        c._add_control_input(tf.constant(1.0))  # type: ignore[arg-type]


def test_a_while_loop_may_grow() -> None:
    """Inputs and outputs can be appended."""
    a = tf.constant(1.0)
    op = tf.no_op()
    op._add_while_inputs([a])
    op._add_outputs([tf.float32], [[2]])
    assert op.inputs == (a,)
    assert a.consumers() == [op]
    assert op.outputs[0].shape.as_list() == [2]


def test_a_device_can_be_set_later() -> None:
    """As text, which is kept, or as DeviceSpec."""
    op = tf.no_op()
    op._set_device("/cpu:0")
    assert op.device == "/cpu:0"
    op._set_device(tf.DeviceSpec(device_type="GPU", device_index=1))
    assert op.node_def.device == "/device:GPU:1"


def test_an_operation_is_no_tensor() -> None:
    """The message suggests the op's output."""
    op = tf.constant(1.0, name="c").op
    with pytest.raises(TypeError, match=r"can't convert Operation 'c' to Tensor; .* 'c:0'"):
        tf.convert_to_tensor(op)


def test_input_and_output_types_are_the_ops() -> None:
    """Reference inputs that are read have base types."""
    op = tf.cast(tf.constant(1.5), tf.int32).op
    assert op._input_types == [tf.float32]
    assert op._output_types == [tf.int32.as_datatype_enum]
    assert isinstance(op, Operation)
    assert op.values() == tuple(op.outputs)


def test_run_needs_a_session_on_the_same_graph() -> None:
    """A missing session and a session of another graph, given or default, have three messages."""
    op = tf.no_op()

    class Session:
        graph = tf.Graph()
        ran: list[object]

        def run(self, fetches: object, feed_dict: object = None) -> object:
            self.ran = [fetches, feed_dict]
            return None

    with pytest.raises(ValueError, match="No default session is registered"):
        op.run()
    session = Session()
    with pytest.raises(ValueError, match="Cannot use the given session to execute operation"):
        op.run(session=session)
    session.graph = op.graph
    op.run(session=session)
    assert session.ran == [op, None]
