"""Calls of functions that are unknown, have other types, or contain an op without a kernel."""

from __future__ import annotations

from typing import Any

import pytest

import tfnb as tf
from tfnb.core.attr_value import NameAttrList
from tfnb.framework.functions.function import Defun
from tfnb.framework.importing.importer import import_graph_def
from tfnb.ops.control import control_flow_ops
from tfnb.proto import graph_pb2

TYPES = {"Tin": [tf.float32], "Tout": [tf.float32]}


@pytest.fixture(autouse=True)
def graph():
    """A graph of the test's own, whose library has ``square`` and ``count`` (of integers)."""

    @Defun(tf.float32, func_name="square")
    def square(x: Any) -> Any:
        return x * x

    @Defun(tf.int32, func_name="count")
    def count(x: Any) -> Any:
        return x + 1

    with tf.Graph().as_default() as found:
        square.add_to_graph(found)
        count.add_to_graph(found)
        yield found


def if_node(graph: Any, x: Any, then: str, other: str, condition: Any = True) -> Any:
    """An If of the named branches that stays a node."""
    attrs = {
        "Tcond": tf.bool,
        **TYPES,
        "then_branch": NameAttrList(then, {}),
        "else_branch": NameAttrList(other, {}),
    }
    inputs = [tf.convert_to_tensor(condition), x]
    return graph.create_op("If", inputs, attrs=attrs, name="branch").outputs[0]


def call(graph: Any, x: Any, name: str, **more: Any) -> Any:
    """A PartitionedCall of the named function."""
    attrs = {**TYPES, "f": NameAttrList(name, {}), **more}
    return graph.create_op("PartitionedCall", [x], attrs=attrs, name="call").outputs[0]


def test_an_unknown_function_is_refused_with_what_needs_the_call(graph: Any):
    """The run is refused; runs that do not need the call work, which TensorFlow refuses too."""
    x = tf.constant(3.0)
    doubled = x * 2
    with tf.Session() as session:
        assert session.run(doubled) == 6.0
        called = call(graph, x, "nobody")
        for _ in range(2):
            for needs_it in (called, called + 1):
                with pytest.raises(tf.errors.InvalidArgumentError, match='function "nobody'):
                    session.run(needs_it)
            assert session.run(x + 1) == 4.0
        assert session.run(doubled) == 6.0


def test_a_pruned_graph_is_refused_only_with_the_call(graph: Any):
    """With place_pruned_graph only the nodes of the signature are checked."""
    x = tf.constant(3.0)
    made = call(graph, x, "nobody")
    config = tf.ConfigProto(graph_options=tf.GraphOptions(place_pruned_graph=True))
    with tf.Session(config=config) as session:
        assert session.run(x + 1) == 4.0
        with pytest.raises(tf.errors.InvalidArgumentError, match='function "nobody'):
            session.run(made)


def test_a_branch_that_is_not_taken_must_be_defined(graph: Any):
    """An If is refused if one of its branches is unknown, at any depth."""

    @Defun(tf.float32, func_name="outer")
    def outer(x: Any) -> Any:
        return call(tf.get_default_graph(), x, "nobody")

    outer.add_to_graph(graph)
    x = tf.constant(3.0)
    for other in ("nobody", "outer"):
        made = if_node(graph, x, "square", other)
        with tf.Session() as session:
            assert session.run(x + 1) == 4.0
            for _ in range(2):
                with pytest.raises(tf.errors.NotFoundError, match="Function nobody is not defined"):
                    session.run(made)


def test_a_missing_branch_may_come_later(graph: Any):
    """The kernel is made again after the function was added."""

    @Defun(tf.float32, func_name="late")
    def late(x: Any) -> Any:
        return x + 1

    made = if_node(graph, tf.constant(3.0), "late", "square")
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError, match="late"):
            session.run(made)
        late.add_to_graph(graph)
        tf.constant(0.0)
        assert session.run(made) == 4.0


@pytest.mark.parametrize("value", [False, True])
def test_arguments_of_other_types_are_refused_where_the_call_is_reached(graph: Any, value: bool):
    """A branch of integers that is not taken causes no error."""
    made = if_node(graph, tf.constant(3.0), "square", "count", value)
    with tf.Session() as session:
        if value:
            assert session.run(made) == 9.0
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expects arg\[0\] to be int"):
                session.run(made)


def test_a_loop_whose_body_gives_another_type_ends(graph: Any):
    """The first result of another type is an error."""

    @Defun(tf.float32, func_name="always")
    def always(x: Any) -> Any:
        return x < 100

    @Defun(tf.float32, func_name="turn")
    def turn(x: Any) -> Any:
        return tf.cast(x, tf.int32)

    always.add_to_graph(graph)
    turn.add_to_graph(graph)
    attrs = {
        "T": [tf.float32],
        "cond": NameAttrList("always", {}),
        "body": NameAttrList("turn", {}),
    }
    made = graph.create_op("While", [tf.constant(3.0)], attrs=attrs, name="loop").outputs[0]
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="Expected type float32 for return"),
    ):
        session.run(made)


@pytest.mark.parametrize("kind", ["input", "output"])
def test_a_call_with_too_few_ends_is_refused_when_it_is_imported(kind: str):
    """Import refuses it, as TensorFlow's shape functions do."""
    message = graph_pb2.GraphDef()
    node = message.node.add(name="p", op="PartitionedCall")
    node.attr["f"].func.name = "square"
    for name, count in (("Tin", kind == "output"), ("Tout", kind == "input")):
        node.attr[name].list.type.extend([1] * count)
    if kind == "output":
        tf.constant(1.0, name="c")
        node.input.append("c")
        message.node.add(name="c", op="Placeholder").attr["dtype"].type = 1
    message.library.CopyFrom(tf.get_default_graph().as_graph_def().library)
    with pytest.raises(tf.errors.InternalError, match=f"invalid {kind} index: 0"):
        import_graph_def(message, name="")


def test_a_result_of_another_type_is_refused_when_it_is_imported():
    """The declaration of the function and its body have different types."""
    message = tf.get_default_graph().as_graph_def()
    (square,) = (f for f in message.library.function if f.signature.name == "square")
    square.signature.output_arg[0].type = 3
    node = message.node.add(name="p", op="PartitionedCall", input=["c"])
    message.node.add(name="c", op="Placeholder").attr["dtype"].type = 1
    node.attr["f"].func.name = "square"
    node.attr["Tin"].list.type.append(1)
    node.attr["Tout"].list.type.append(3)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Invalid ret types"):
        import_graph_def(message, name="")


def test_a_dataset_of_an_unknown_function_has_no_kernel(graph: Any):
    """The signature is refused, whether the dataset is reached or not."""
    source = tf.raw_ops.TensorDataset(components=[tf.constant(1.0)], output_shapes=[[]])
    made = tf.raw_ops.MapDataset(
        input_dataset=source,
        other_arguments=[],
        f=NameAttrList("nobody", {}),
        output_types=[tf.float32],
        output_shapes=[[]],
    )
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.FailedPreconditionError, match="function definition nobody"),
    ):
        session.run(made)


def test_a_body_without_a_kernel_matters_where_it_is_called(graph: Any):
    """An If's branch raises NotFoundError, a call InvalidArgumentError.

    Untaken branches raise nothing.
    """

    @Defun(tf.float32, func_name="lossy")
    def lossy(x: Any) -> Any:
        lost = tf.raw_ops.CTCLossV2(
            inputs=tf.reshape(x, [1, 1, 1]),
            labels_indices=tf.zeros([1, 2], tf.int64),
            labels_values=[0],
            sequence_length=[1],
        )
        return tf.reshape(lost.loss, [])

    lossy.add_to_graph(graph)
    x, asked = tf.constant(3.0), tf.placeholder(tf.bool)
    branch = if_node(graph, x, "lossy", "square", asked)
    other, taken = control_flow_ops.switch(x, asked)
    called = control_flow_ops.merge([other, call(graph, taken, "lossy")])[0]
    with tf.Session() as session:
        assert session.run([branch, called], {asked: False}) == [9.0, 3.0]
        with pytest.raises(tf.errors.NotFoundError, match="No registered 'CTCLossV2' OpKernel"):
            session.run(branch, {asked: True})
        with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel was registered"):
            session.run(called, {asked: True})
