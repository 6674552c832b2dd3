"""Internal modules of TensorFlow that libraries of TensorFlow 1 build on."""

from __future__ import annotations

import importlib
import sys
import unittest
from typing import Any

import numpy as np
import pytest

import tfnb as tf

pytestmark = pytest.mark.usefixtures("as_tensorflow")


def _import(name: str) -> Any:
    return importlib.import_module(f"tensorflow.python.{name}")


def test_definitions_of_ops_are_messages() -> None:
    """An op that is not there is None."""
    registry = _import("framework.op_def_registry")
    registry.sync()

    assert registry.get("VariableV2").is_stateful
    assert [arg.name for arg in registry.get("MatMul").input_arg] == ["a", "b"]
    assert registry.get("NoSuchOp") is None
    assert registry.get_registered_ops()["Add"].name == "Add"


def test_structures_of_specs_are_written_and_read() -> None:
    """A structure that has no message is refused."""
    coder = _import("saved_model.nested_structure_coder").StructureCoder()
    structure = {
        "a": tf.TensorSpec([None, 2], tf.int32),
        "b": [tf.SparseTensorSpec([3], tf.string)],
    }

    assert coder.decode_proto(coder.encode_structure(structure)) == structure
    assert coder.can_encode(structure)
    assert not coder.can_encode({"a": object()})


@pytest.mark.parametrize(
    ("rows", "values", "expected"),
    [
        (1, [7, 8], [[1, 2], [7, 8], [5, 6]]),
        ([0, 2], [[7, 8], [9, 0]], [[7, 8], [3, 4], [9, 0]]),
        (None, [[7, 8], [9, 0], [1, 1]], [[7, 8], [9, 0], [1, 1]]),
    ],
)
def test_rows_are_replaced(rows: Any, values: Any, expected: Any) -> None:
    """One row, several, or all of them."""
    inplace = _import("ops.inplace_ops")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1, 2], [3, 4], [5, 6]])
        found = session.run(inplace.alias_inplace_update(x, rows, values))
        added = session.run(
            inplace.alias_inplace_sub(
                inplace.inplace_add(x, rows, values), rows, 0 * np.array(values)
            )
        )

    assert found.tolist() == expected
    assert added.sum() == 21 + np.sum(values)


def test_a_summary_has_the_scope_of_its_family() -> None:
    """A function of summaries collects what it made."""
    util = _import("ops.summary_op_util")
    with tf.Graph().as_default():
        with util.summary_scope("my name", "family") as (tag, scope):
            made = tf.constant("", name=scope)
        util.collect(made, None, [tf.GraphKeys.SUMMARIES])

        assert (tag, scope) == ("family/family/my_name", "family/my_name/")
        assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [made]
    assert not _import("distribute.summary_op_util").skip_summary()


def test_names_of_arguments() -> None:
    """Those of a bound method are without self."""

    class Model:
        def fit(self, x: int, y: int = 2, **rest: int) -> None:
            """Do nothing."""

    fn_args = _import("util.function_utils").fn_args

    assert fn_args(Model().fit) == ("x", "y")
    assert fn_args(lambda a, *b: None) == ("a",)


def test_signatures_are_those_inside_of_decorators() -> None:
    """Without annotations, which functions of TensorFlow do not have."""
    inspected = _import("util.tf_inspect").getfullargspec(tf.cast)
    assert inspected == _import("util.tf_inspect").getfullargspec(lambda x, dtype, name=None: x)


def test_a_class_that_stands_for_tensors_is_registered() -> None:
    """Its instances are symbolic tensors then."""
    utils = _import("keras.utils.tf_utils")

    class Coercible:
        """Stands for a tensor."""

    assert not utils.is_symbolic_tensor(Coercible())
    utils.register_symbolic_tensor_type(Coercible)
    with tf.Graph().as_default():
        assert utils.is_symbolic_tensor(Coercible())
        assert utils.is_symbolic_tensor(tf.constant(1))


def test_the_graph_of_values() -> None:
    """They have to be of one graph, or of the given one."""
    find = _import("framework.ops")._get_graph_from_inputs
    with tf.Graph().as_default() as graph:
        value = tf.constant(1.0)
    with tf.Graph().as_default() as other:
        assert find([value, 2]) is graph
        assert find([value.op], graph) is graph
        assert find([2]) is other
        with pytest.raises(ValueError, match="is not from the passed-in graph"):
            find([value], other)
        with pytest.raises(ValueError, match="must be from the same graph as"):
            find([value, tf.constant(2.0)])
        with pytest.raises(TypeError, match="Input graph needs to be a Graph: 3"):
            find([value], 3)


def test_shapes_are_made_by_kind() -> None:
    """Of unknown rank, and of 0, 1 and 2 dimensions."""
    shapes = _import("framework.tensor_shape")

    assert shapes.unknown_shape().rank is None
    assert shapes.scalar().rank == 0
    assert shapes.vector(3).as_list() == [3]
    assert shapes.matrix(None, 2).as_list() == [None, 2]
    assert shapes.as_shape([1]) == tf.TensorShape([1])


def test_gauges_keep_values_by_label() -> None:
    """Libraries set them as they are built."""
    monitoring = _import("eager.monitoring")
    gauge = monitoring.BoolGauge("/a/b", "says something", "agent")
    assert gauge.get_cell("x").value() is False
    gauge.get_cell("x").set(True)
    assert gauge.get_cell("x").value() is True
    counter = monitoring.Counter("/a/c", "counts")
    counter.get_cell().increase_by(2)
    assert counter.get_cell().value() == 2


def test_contexts_answer_in_the_spelling_of_tensorflow() -> None:
    """A value from outside is brought in; nodes in a loop are recognised."""
    flow = _import("ops.control_flow_ops")
    util = _import("ops.control_flow_util")
    found: list[bool] = []
    with tf.Graph().as_default() as graph, tf.Session() as session:
        outside = tf.constant(5)

        def body(i: tf.Tensor) -> tf.Tensor:
            context = graph._get_control_flow_context()
            assert isinstance(context, flow.WhileContext)
            assert context.IsWhileContext()
            assert not context.IsCondContext()
            assert context.GetWhileContext() is context
            inside = context.AddValue(outside)
            found.append(util.IsInWhileLoop(inside.op))
            return i + inside

        total = tf.while_loop(lambda i: i < 12, body, [0])
        assert session.run(total) == 15
        assert found == [True]
        assert not util.IsInWhileLoop(outside.op)
        assert util.GetContainingXLAContext(None) is None


def test_marks_against_autograph_do_nothing() -> None:
    """Other names of it are refused when they are used."""
    for module in ("tensorflow", "tensorflow.compat.v1"):
        autograph = importlib.import_module(module).autograph

        @autograph.experimental.do_not_convert()
        def double(x: int) -> int:
            return 2 * x

        assert double(2) == autograph.experimental.do_not_convert(double)(2) == 4
        with pytest.raises(NotImplementedError, match=r"use tf\.cond and tf\.while_loop"):
            autograph.to_graph(double)


def test_tpu_has_what_a_program_uses_elsewhere() -> None:
    """An optimizer for replicas is the one it wraps."""
    tpu = importlib.import_module("tensorflow.compat.v1").tpu
    with tf.Graph().as_default(), tf.Session() as session:
        with tpu.bfloat16_scope():
            x = tf.get_variable("x", initializer=1.0)
        train = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.5)).minimize(x * x)
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(x) == 0.0
    with pytest.raises(NotImplementedError, match="it needs TPUs"):
        tpu.rewrite()


class TestsOfTests:
    """``test_util``: in which mode a test runs."""

    def test_a_test_runs_in_a_session(self) -> None:
        """As a function, or all of a class."""
        util = _import("framework.test_util")

        @util.run_all_in_graph_and_eager_modes
        class All(tf.test.TestCase):
            def test_value(self) -> None:
                assert tf.constant(3).eval() == 3

        class Case(tf.test.TestCase):
            @util.run_in_graph_and_eager_modes(use_gpu=False)
            def test_again(self) -> None:
                assert tf.constant(4).eval() == 4

            @util.run_v1_only("a reason")
            def test_of_one(self) -> None:
                """Pass."""

            @util.run_deprecated_v1
            def test_in_a_graph(self) -> None:
                """Pass."""

            @util.run_v2_only
            def test_of_two(self) -> None:
                raise AssertionError

        result = unittest.TestResult()
        for one in (All, Case):
            unittest.defaultTestLoader.loadTestsFromTestCase(one).run(result)

        assert (result.failures, result.errors) == ([], [])
        assert [reason for _, reason in result.skipped if "v2" in reason] == [
            "Test is only compatible with v2"
        ]

    def test_conds_become_functional_ops_during_a_test(self) -> None:
        """The mode ends with the test."""
        util = _import("framework.test_util")

        @util.enable_control_flow_v2
        def kinds() -> set[str]:
            with tf.Graph().as_default() as graph:
                tf.cond(tf.placeholder(tf.bool), lambda: 1, lambda: 2)
                return {op.type for op in graph.get_operations()}

        assert kinds() & {"If", "StatelessIf"}
        assert not tf.control_flow_v2_enabled()


def _column() -> Any:
    """Return a column that a program defines: the lengths of texts, and twice of them."""
    base = _import("feature_column.feature_column")
    second = _import("feature_column.feature_column_v2")

    class Lengths(base._DenseColumn, second.DenseColumn):  # type: ignore[misc, name-defined]
        name = "lengths"
        _variable_shape = tf.TensorShape([2])

        @property
        def _parse_example_spec(self) -> dict[str, Any]:
            return {"text": tf.FixedLenFeature([1], tf.string)}

        def _transform_feature(self, inputs: Any) -> Any:
            return tf.to_float(tf.strings.length(inputs.get("text")))

        def _get_dense_tensor(
            self, inputs: Any, weight_collections: Any = None, trainable: Any = None
        ) -> Any:
            lengths = inputs.get(self)
            return tf.concat([lengths, 2 * lengths], 1)

    return Lengths()


def test_a_column_of_a_program_goes_into_layers() -> None:
    """Beside columns of tf.feature_column, into both layers and the spec of examples."""
    column = _column()
    columns = [column, tf.feature_column.numeric_column("x")]
    tensors: dict[Any, Any] = {}
    features = {"text": ["a", "bcd"], "x": [[5.0], [6.0]]}
    with tf.Graph().as_default(), tf.Session() as session:
        layer = tf.feature_column.input_layer(features, columns, cols_to_output_tensors=tensors)
        linear = tf.feature_column.linear_model(features, columns)
        session.run(tf.global_variables_initializer())

        assert session.run(layer).tolist() == [[1, 2, 5], [3, 6, 6]]
        assert session.run(tensors[column]).tolist() == [[1, 2], [3, 6]]
        assert session.run(linear).tolist() == [[0], [0]]
        names = [variable.op.name for variable in tf.trainable_variables()]
        assert "linear_model/lengths/weights" in names
    spec = tf.feature_column.make_parse_example_spec(columns)
    assert spec["text"] == tf.FixedLenFeature([1], tf.string)
    assert _import("feature_column.feature_column_v2").is_feature_column_v2(columns)


def test_flags_of_absl_are_flags_of_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """tf.app.run parses them; tf.flags.FLAGS reads and writes them."""
    absl = pytest.importorskip("absl.flags")
    values = absl.FlagValues()
    absl.DEFINE_integer("steps_of_absl", 1, "Steps.", flag_values=values)
    absl.DEFINE_integer("more_of_absl", 1, "Steps.", flag_values=values)
    monkeypatch.setattr(absl, "FLAGS", values)
    monkeypatch.setattr(sys, "argv", ["program", "--steps_of_absl=5", "rest"])
    found: list[Any] = []

    def main(words: list[str]) -> None:
        found.append((words, tf.flags.FLAGS.steps_of_absl, values.more_of_absl))

    assert tf.flags.FLAGS.steps_of_absl == 5
    with pytest.raises(SystemExit):
        tf.app.run(main, ["program", "--more_of_absl", "7", "rest", "--unknown"])
    tf.flags.FLAGS.more_of_absl = 8
    with pytest.raises(SystemExit):
        tf.app.run(main, ["program", "--steps_of_absl=none"])

    assert found == [(["program", "rest", "--unknown"], 5, 7)]
    assert values.more_of_absl == 8


def test_collective_ops_have_functions() -> None:
    """A reduction, a gathering and a broadcast between two devices."""
    ops = _import("ops.collective_ops")
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        fetched: list[Any] = []
        for number in (0, 1):
            with tf.device(f"/CPU:{number}"):
                x = tf.constant([1.0 + number, 2.0])
                fetched.append(ops.all_reduce(x, 2, 1, 1, final_op="Div"))
                fetched.append(ops.all_gather(x, 2, 1, 2))
                if number:
                    fetched.append(ops.broadcast_recv([2], tf.float32, 2, 1, 3))
                else:
                    fetched.append(ops.broadcast_send(x, [2], tf.float32, 2, 1, 3))
        shapes = [one.shape.as_list() for one in fetched]
        found = [one.tolist() for one in session.run(fetched)]

    assert found == 2 * [[1.5, 2.0], [1.0, 2.0, 2.0, 2.0], [1.0, 2.0]]
    assert shapes == 2 * [[2], [4], [2]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ops, x: ops.all_reduce(x, 2, 1, 1), "Device assignment"),
        (lambda ops, x: ops.broadcast_recv([2], tf.float32, 1, 1, 1), "at least 2"),
    ],
)
def test_a_collective_op_has_a_device_and_several_members(call: Any, message: str) -> None:
    """Else ValueError."""
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        call(_import("ops.collective_ops"), tf.constant([1.0]))


def test_a_broadcast_has_the_shape_and_type_of_its_tensor() -> None:
    """Else ValueError."""
    send = _import("ops.collective_ops").broadcast_send
    with tf.Graph().as_default(), tf.device("/CPU:0"):
        x = tf.constant([1.0, 2.0])
        with pytest.raises(ValueError, match="Shape"):
            send(x, [3], tf.float32, 2, 1, 1)
        with pytest.raises(ValueError, match="Type"):
            send(x, [2], tf.int32, 2, 1, 1)


def test_a_shape_function_in_python_is_taken() -> None:
    """Ops have their own shape functions."""

    def infer(op: Any) -> None:
        """Infer nothing."""

    assert _import("framework.ops").RegisterShape("ConstructionFails")(infer) is infer
