"""tf.Operation.from_node_def makes an operation from a NodeDef."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.protobuf import text_format

import tfnb as tf

_FLOATS = 'attr { key: "T" value { type: DT_FLOAT } }'


def _node(text: str) -> Any:
    return text_format.Parse(text, tf.NodeDef())


def _add(name: str, inputs: Any, node: str = _FLOATS, **arguments: Any) -> tf.Operation:
    message = _node(f'name: "{name}" op: "Add" {node}')
    return tf.Operation.from_node_def(message, tf.get_default_graph(), inputs, **arguments)


def _vectors() -> tuple[tf.Tensor, tf.Tensor]:
    return tf.constant([1.0, 2.0], name="x"), tf.constant([3.0, 4.0], name="y")


def test_the_message_gives_name_device_and_attributes() -> None:
    """Inputs and control inputs come from the arguments; those of the message are not read."""
    x, y = _vectors()
    op = _add("s", [x, y], f'{_FLOATS} device: "/cpu:0" input: "nothing"', control_inputs=[x, y.op])
    assert (op.name, op.device) == ("s", "/cpu:0")
    assert list(op.node_def.input) == ["x", "y", "^x", "^y"]
    assert op.outputs[0].shape == [2]
    assert tf.Session().run(op.outputs[0]).tolist() == [4.0, 6.0]
    assert tf.get_default_graph().get_operation_by_name("s") is op


def test_scopes_around_the_call_add_nothing() -> None:
    """Names, devices and control dependencies are the message's, as in TensorFlow."""
    x, y = _vectors()
    with tf.name_scope("scope"), tf.device("/gpu:1"), tf.control_dependencies([y]):
        op = _add("s", [x, y], original_op=x.op)
    assert (op.name, op.device, op.control_inputs) == ("s", "", [])
    assert op._original_op is x.op


def test_what_follows_from_the_inputs_and_defaults_may_be_left_out() -> None:
    """The type of the inputs and the axis of Pack are inferred; unknown attributes are kept."""
    x, y = _vectors()
    assert _add("s", [x, y], "").get_attr("T") is tf.float32
    node = _node(
        f'name: "p" op: "Pack" {_FLOATS} attr {{ key: "N" value {{ i: 2 }} }} '
        'attr { key: "_a" value { i: 3 } }'
    )
    op = tf.Operation.from_node_def(node, tf.get_default_graph(), [x, y])
    assert (op.get_attr("axis"), op.get_attr("N"), op.get_attr("_a")) == (0, 2, 3)


def test_an_operation_without_inputs() -> None:
    """The list of inputs may be left out."""
    op = tf.Operation.from_node_def(_node('name: "n" op: "NoOp"'), tf.get_default_graph())
    assert (op.inputs, op.outputs) == ((), [])


def test_a_name_is_taken_once() -> None:
    """A second node of the name is refused; later ops get another name."""
    x, y = _vectors()
    _add("s", [x, y])
    with pytest.raises(ValueError, match="Duplicate node name in graph: 's'"):
        _add("s", [x, y])
    assert tf.add(x, y, name="s").op.name == "s_1"


def test_the_loop_around_the_call_adopts_the_operation() -> None:
    """Its inputs from outside enter the loop."""
    one = tf.constant(1)

    def body(i: tf.Tensor) -> tf.Tensor:
        node = _node('name: "while/s" op: "Add" attr { key: "T" value { type: DT_INT32 } }')
        op = tf.Operation.from_node_def(node, tf.get_default_graph(), [i, one])
        assert list(op.node_def.input) == ["while/Identity", "while/Enter_1"]
        return op.outputs[0]

    result = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    assert tf.Session().run(result) == 3


def test_a_function_captures_the_inputs() -> None:
    """Inputs of the graph outside become arguments of the function."""
    x, y = _vectors()
    tf.enable_control_flow_v2()
    try:
        result = tf.cond(
            tf.constant(True), lambda: _add("s", [x, y]).outputs[0], lambda: tf.identity(x)
        )
    finally:
        tf.disable_control_flow_v2()
    assert tf.Session().run(result).tolist() == [4.0, 6.0]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("s", None, None), TypeError, "Argument node_def must be a NodeDef. Received an instance"),
        ((None, (), None), TypeError, "Argument inputs shall be a list of Tensors. Received an"),
        ((None, [1], None), TypeError, "Items of argument inputs shall be Tensor. Received an"),
        ((None, None, ["x"]), TypeError, "Control input must be an Operation, a Tensor, or Indexe"),
    ],
)
def test_arguments_of_other_classes_are_refused(
    arguments: tuple[Any, Any, Any], kind: type[Exception], message: str
) -> None:
    """The messages are TensorFlow's."""
    node, inputs, controls = arguments
    node = node or _node('name: "n" op: "NoOp"')
    with pytest.raises(kind, match=message):
        tf.Operation.from_node_def(node, tf.get_default_graph(), inputs, control_inputs=controls)


def test_a_graph_is_asked_for() -> None:
    """None is refused, and so is a finalized graph."""
    node = _node('name: "n" op: "NoOp"')
    with pytest.raises(TypeError, match="Argument g must be a Graph"):
        tf.Operation.from_node_def(node, None)
    tf.get_default_graph().finalize()
    with pytest.raises(RuntimeError, match="Graph is finalized"):
        tf.Operation.from_node_def(node, tf.get_default_graph())


@pytest.mark.parametrize("name", ["", "_s", "a b"])
def test_bad_names_are_refused(name: str) -> None:
    """The message has the pattern, as in TensorFlow."""
    message = re.escape(f"`{name}` is not a valid node name. Accepted names conform to Regex /re.")
    with pytest.raises(ValueError, match=message):
        _add(name, list(_vectors()))


def test_inputs_that_do_not_fit_are_refused() -> None:
    """Number, types, shapes and graph of the inputs are checked before anything is added."""
    x, y = _vectors()
    short = tf.constant([1.0])
    before = tf.get_default_graph().num_operations()
    with pytest.raises(ValueError, match="do not match 1 inputs specified"):
        _add("s", [x])
    with pytest.raises(ValueError, match="was passed float from x:0 incompatible with expected"):
        _add("s", [x, y], 'attr { key: "T" value { type: DT_INT32 } }')
    with pytest.raises(TypeError, match=r"In op 's', input types \(\[tf.float32, tf.float32\]\)"):
        _add("s", [x, y], input_types=[tf.int32, tf.float32])
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 3"):
        _add("s", [x, tf.constant([1.0, 2.0, 3.0])])
    with tf.Graph().as_default():
        stranger = tf.constant([1.0, 2.0], name="z")
    with pytest.raises(ValueError, match="'z:0' must be from graph"):
        _add("s", [x, stranger])
    with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'Nothing'"):
        tf.Operation.from_node_def(_node('name: "n" op: "Nothing"'), tf.get_default_graph())
    assert tf.get_default_graph().num_operations() == before + 1  # the vector of three
    assert short.graph is tf.get_default_graph()


def test_effects_of_a_message_are_not_allowed_by_themselves(tmp_path: Any) -> None:
    """The effects of a message need permission, like those of an imported graph."""
    path = tmp_path / "secret"
    path.write_bytes(b"text")
    graph = tf.get_default_graph()
    node = tf.constant(str(path)).op.node_def
    node.name = "path"
    constant = tf.Operation.from_node_def(node, graph).outputs[0]
    read = tf.Operation.from_node_def(_node('name: "r" op: "ReadFile"'), graph, [constant])
    with pytest.raises(tf.errors.PermissionDeniedError):
        tf.Session().run(read.outputs[0])
    assert tf.Session().run(read.outputs[0], {constant: str(path)}) == b"text"
