"""Graphs of older programs: what is accepted, refused and repaired."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.core import errors
from tfnb.core.versions import GRAPH_DEF_VERSION

FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def graph_def(text: str, producer: int = 10) -> Any:
    """A GraphDef that an old program wrote."""
    message = text_format.Parse(text, tf.GraphDef())
    message.versions.producer = producer
    return message


def constant(name: str, value: float) -> str:
    """The text of a constant."""
    return (
        f'node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} '
        'attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } '
        f"float_val: {value} }} }} }} }}"
    )


YES = """node { name: "yes" op: "Const" attr { key: "dtype" value { type: DT_BOOL } } attr { key:
  "value" value { tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } } } }"""

# A frozen moving average and a cond on a variable.
FROZEN = (
    constant("v", 5)
    + constant("c", 2)
    + YES
    + f"""
    node {{ name: "sub" op: "AssignSub" input: "v" input: "c" {FLOAT}
      attr {{ key: "use_locking" value {{ b: true }} }} }}
    node {{ name: "switch" op: "RefSwitch" input: "v" input: "yes" {FLOAT} }}
    node {{ name: "merge" op: "RefMerge" input: "switch" input: "switch:1" {FLOAT}
      attr {{ key: "N" value {{ i: 2 }} }} }}
    node {{ name: "as" op: "Assign" input: "v" input: "c" {FLOAT}
      attr {{ key: "validate_shape" value {{ b: true }} }} }}"""
)


def test_ops_for_references_behind_frozen_variables_are_mended() -> None:
    """The error names the remedy; the repaired copy runs, and each change is reported."""
    message = graph_def(FROZEN)
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=r"float_ref\. If variables .*repair_graph_def"):
            tf.import_graph_def(message, name="")
    mended, notes = tf.graph_util.repair_graph_def(message)
    assert notes == [
        "node 'sub': AssignSub became Sub, as it was given no reference",
        "node 'switch': RefSwitch became Switch, as it was given no reference",
        "node 'merge': RefMerge became Merge, as it was given no reference",
        "node 'as': Assign became Identity, as it was given no reference",
    ]
    assert message == graph_def(FROZEN)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(mended, name="")
        assert session.run(["sub:0", "merge:0", "as:0"]) == [3.0, 5.0, 2.0]


def _float_variable(*values: float) -> Any:
    return tf.Variable(np.array(values, np.float32), use_resource=False)


def _scatter_in_loop() -> Any:
    variable = _float_variable(1, 2, 3)

    def body(i: Any, total: Any) -> Any:
        return i + 1, total + tf.scatter_add(variable, [0], [tf.cast(i, tf.float32)])

    return tf.while_loop(lambda i, _: i < 1, body, [0, tf.zeros([3])])[1]


def _adam() -> Any:
    variables = {name: _float_variable(1, 2)._ref() for name in ("var", "m", "v")}
    numbers = {"beta1_power": 0.9, "beta2_power": 0.99, "beta1": 0.9, "beta2": 0.99}
    return tf.raw_ops.ApplyAdam(**variables, **numbers, lr=0.1, epsilon=1e-8, grad=[1.0, 2.0])


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.scatter_add(_float_variable(1, 2, 3), [0, 2], [5.0, 6.0]),
        lambda: tf.scatter_mul(_float_variable(1, 2, 3), [0, 2], 3.0),
        lambda: tf.scatter_nd_update(_float_variable(1, 2, 3), [[0], [2]], [5.0, 6.0]),
        lambda: tf.scatter_nd_add(
            tf.scatter_update(_float_variable(1, 2, 3), [0, 1], [7.0, 8.0]), [[0]], [5.0]
        ),
        lambda: tf.count_up_to(tf.Variable(3, use_resource=False), 10),
        _adam,
        _scatter_in_loop,
    ],
    ids=["scatter_add", "scatter_mul", "nd_update", "chain", "count_up_to", "adam", "loop"],
)
def test_updates_of_frozen_variables_run_on_a_copy_of_the_value(build: Any) -> None:
    """Every step begins with the frozen value, and gives the result of the program's first step."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        output = build()
        session.run(tf.global_variables_initializer())
        values = {variable.op.name: session.run(variable) for variable in tf.global_variables()}
        expected = session.run(output)
    message = graph.as_graph_def()
    for node in message.node:
        if node.name in values:
            node.op = "Const"
            node.ClearField("attr")
            value = tf.make_tensor_proto(values[node.name])
            node.attr["dtype"].type = value.dtype
            node.attr["value"].tensor.CopyFrom(value)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="repair_graph_def"):
        tf.import_graph_def(message, name="")
    mended, notes = tf.graph_util.repair_graph_def(message)
    assert any("begins with" in note for note in notes)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(mended, name="")
        for _ in range(2):
            np.testing.assert_array_equal(session.run(output.name), expected)


def test_assignments_to_resources_are_mended() -> None:
    """An assignment is repaired if no node uses its reference."""
    handle = """node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "shape" value { shape { } } } }"""
    text = (
        handle
        + constant("c", 2)
        + f"""node {{ name: "set" op: "Assign" input: "v" input: "c" {FLOAT} }}
        node {{ name: "sub" op: "AssignSub" input: "v" input: "c" input: "^set" {FLOAT} }}
        node {{ name: "read" op: "ReadVariableOp" input: "v" input: "^sub"
          attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} }}"""
    )
    mended, notes = tf.graph_util.repair_graph_def(graph_def(text))
    assert [note.split(": ")[1].split(",")[0] for note in notes] == [
        "Assign became AssignVariableOp",
        "AssignSub became AssignSubVariableOp",
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(mended, name="")
        assert session.run("read:0") == 0.0


def test_references_that_are_right_are_left_alone() -> None:
    """Nothing is repaired or reported."""
    with tf.Graph().as_default() as graph:
        variable = tf.Variable(1.0, use_resource=False)
        tf.assign_sub(variable, 1.0)
    message = graph.as_graph_def()
    assert tf.graph_util.repair_graph_def(message) == (message, [])


def test_attributes_that_an_op_lost_are_dropped_with_a_note() -> None:
    """Attributes whose names begin with an underscore stay."""
    text = constant("c", 2) + (
        f'node {{ name: "r" op: "Relu" input: "c" {FLOAT} attr {{ key: "old" value {{ i: 1 }} }} '
        'attr { key: "_note" value { i: 1 } } }'
    )
    mended, notes = tf.graph_util.repair_graph_def(graph_def(text, producer=7))
    assert notes == ["node 'r': Relu has no attribute old, dropped (written by version 7)"]
    assert sorted(mended.node[1].attr) == ["T", "_note"]


def test_defaults_of_younger_attributes_are_filled_in() -> None:
    """A MatMul from before the transposition attributes is accepted."""
    text = (
        f'{constant("c", 2)} node {{ name: "s" op: "Reshape" input: "c" input: "shape" {FLOAT} }} '
        'node { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { '
        'key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } '
        "int_val: 1 } } } } "
        f'node {{ name: "m" op: "MatMul" input: "s" input: "s" {FLOAT} }}'
    )
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def(text), name="")
        op = graph.get_operation_by_name("m")
        assert op.get_attr("transpose_a") is False
        assert op.node_def.attr["transpose_b"].b is False
        assert session.run("m:0").tolist() == [[4.0]]
        assert graph.graph_def_versions.producer == 10


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ({"producer": -1}, "producer version -1 below min producer 0 supported by TensorFlow"),
        (
            {"producer": 30, "min_consumer": 99999},
            f"min consumer version 99999 above current version {GRAPH_DEF_VERSION} for TensorFlow",
        ),
        (
            {"producer": 30, "bad_consumers": [GRAPH_DEF_VERSION]},
            f"disallows consumer version {GRAPH_DEF_VERSION}",
        ),
    ],
)
def test_graphs_for_other_readers_are_refused(versions: dict[str, Any], text: str) -> None:
    """The messages are TensorFlow's."""
    message = graph_def(constant("c", 1))
    message.versions.CopyFrom(type(message.versions)(**versions))
    with pytest.raises(ValueError, match=text):
        tf.import_graph_def(message)


def test_a_deprecated_op_is_refused_from_its_version_on() -> None:
    """Graphs of older producers are accepted, and shapes are checked."""
    inputs = "".join(constant(name, 1) for name in "tmvbg")
    names = "".join(f'input: "{name}" ' for name in "tmvbg")
    text = f"""{inputs} node {{ name: "n" op: "BatchNormWithGlobalNormalization" {names} {FLOAT}
      attr {{ key: "variance_epsilon" value {{ f: 0.1 }} }}
      attr {{ key: "scale_after_normalization" value {{ b: true }} }} }}"""
    with pytest.raises(
        errors.UnimplementedError,
        match="Op BatchNormWithGlobalNormalization is not available in GraphDef version 9",
    ):
        tf.import_graph_def(graph_def(text, producer=9))
    with pytest.raises(ValueError, match="Shape must be rank 4"):
        tf.import_graph_def(graph_def(text, producer=8))
