"""What TensorFlow's own tests use: ``test_util``, ``test_ops``, ``contrib.testing`` and others."""
# mypy: allow-untyped-decorators

from __future__ import annotations

import importlib
import sys
import unittest
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.as_tensorflow.served_names import what_stops
from tfnb.as_tensorflow.stand_ins.testing.test_ops import registered

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")


def _import(name: str) -> Any:
    return importlib.import_module(f"tensorflow.{name}")


def _util() -> Any:
    return _import("python.framework.test_util")


def _result_of(case: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_tests_run_with_both_forms_of_control_flow() -> None:
    """The second form of a marked test is left out."""
    util = _util()
    kinds = []

    @util.with_control_flow_v2
    class Case(tf.test.TestCase):
        def test_both(self) -> None:
            kinds.append(tf.control_flow_v2_enabled())

        @util.disable_control_flow_v2("a reason")
        def test_one(self) -> None:
            kinds.append(tf.control_flow_v2_enabled())

    assert not _result_of(Case).errors
    assert sorted(kinds) == [False, False, True]


def test_marks_leave_tests_as_they_are() -> None:
    """Those of eager mode, the C API and XLA; some are for the tests of a class."""
    util = _util()
    done = []

    @util.with_c_api
    @util.for_all_test_methods(util.disable_xla, "a reason")
    class Case(tf.test.TestCase):
        @util.also_run_as_tf_function
        def test_first(self) -> None:
            done.append(1)

        @util.skip_if(lambda: True)
        def test_second(self) -> None:
            raise AssertionError

        @util.skip_if(False)
        @util.build_as_function_and_v1_graph
        def test_third(self) -> None:
            done.append(3)

        @util.run_gpu_only
        def test_fourth(self) -> None:
            assert tf.test.is_gpu_available()

    result = _result_of(Case)
    assert (result.failures, result.errors, done) == ([], [], [1, 3])


def test_what_a_test_leaves_behind_is_found() -> None:
    """Tensors that live on, and objects that refer to each other."""
    util = _util()
    kept: list[Any] = []

    class Case(tf.test.TestCase):
        @util.assert_no_new_tensors
        def test_leaves_none(self) -> None:
            tf.constant(1.0)

        @util.assert_no_new_tensors
        def test_leaves_one(self) -> None:
            kept.append(tf.constant(2.0))

        @util.assert_no_garbage_created
        def test_leaves_no_circle(self) -> None:
            np.zeros(1)

        @util.assert_no_garbage_created
        def test_leaves_a_circle(self) -> None:
            circle: list[Any] = []
            circle.append(circle)

    found = sorted(test.id().rpartition(".")[2] for test, _ in _result_of(Case).failures)
    assert found == ["test_leaves_a_circle", "test_leaves_one"]


def test_dimensions_are_reordered() -> None:
    """Of lists, shapes and tensors of rank 4 and 5."""
    util = _util()
    assert util.NHWCToNCHW([1, 2, 3, 4]) == [1, 4, 2, 3]
    assert util.NCHWToNHWC(util.NHWCToNCHW([1, 2, 3, 4, 5])) == [1, 2, 3, 4, 5]
    assert util.NHWCToNCHW(tf.zeros([1, 2, 3, 4])).shape.as_list() == [1, 4, 2, 3]


def test_graphs_are_looked_into() -> None:
    """Nodes by name, ops that are expected, the version of the producer."""
    util = _util()
    with tf.Graph().as_default() as graph, util.device(use_gpu=False):
        tf.add(tf.constant(1, name="a"), 2, name="b")
    graph_def = graph.as_graph_def()
    assert util.get_node_def_from_graph("b", graph_def).op in ("Add", "AddV2")
    assert util.get_node_def_from_graph("c", graph_def) is None
    assert set(util.assert_ops_in_graph({"a": "Const"}, graph)) == {"a"}
    with pytest.raises(ValueError, match="is different"):
        util.assert_ops_in_graph({"a": "Add"}, graph)
    with pytest.raises(ValueError, match="Missing"):
        util.assert_ops_in_graph({"c": "Add"}, graph)
    util.set_producer_version(graph, 8)
    assert graph.graph_def_versions.producer == 8


def test_gradients_are_compared_while_they_are_computed() -> None:
    """The step fails where the gradient is not the expected one."""
    check = _util().create_identity_with_grad_check_fn
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)
        right, wrong = (tf.gradients(check(one)(x) * 3.0, x)[0] for one in (3.0, 4.0))
        assert session.run(right) == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(wrong)


def test_values_are_combined_and_named() -> None:
    """Each combination has a name of its own."""
    found = _util().generate_combinations_with_testcase_name(a=[1, 2], b=["x"])
    assert found == [
        {"a": 1, "b": "x", "testcase_name": "_test_a_1_b_x"},
        {"a": 2, "b": "x", "testcase_name": "_test_a_2_b_x"},
    ]


def test_test_only_ops_are_there_when_they_are_used() -> None:
    """Shape functions that Python registers are ignored; names that are no ops are refused."""
    ops = _import("python.framework.ops")
    assert ops.RegisterShape("ConstructionFails")(None) is None
    assert what_stops("tensorflow.python.ops.math_ops.no_such_function") is not None
    test_ops = _import("python.framework.test_ops")
    try:
        with tf.Graph().as_default():
            assert test_ops.float_output().dtype == tf.float32
            with pytest.raises(NotImplementedError, match="has been removed in version 8"):
                test_ops.old()
        with pytest.raises(NotImplementedError, match="it is internal to TensorFlow"):
            test_ops.no_such_op()
    finally:
        registered().remove()
        registered.cache_clear()
        del sys.modules["tensorflow.python.framework.test_ops"]


def test_questions_about_control_flow() -> None:
    """Switch, Merge, Enter, Exit, and what surrounds an operation."""
    util = _import("python.ops.control_flow_util")
    with tf.Graph().as_default() as graph:
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
        by_type = {op.type: op for op in graph.get_operations() if "while" in op.name}
        merge = graph.get_operation_by_name("cond/Merge")
    assert util.IsLoopEnter(by_type["Enter"])
    assert util.IsLoopExit(by_type["Exit"])
    assert util.IsLoopMerge(by_type["Merge"])
    assert util.IsLoopSwitch(by_type["Switch"])
    assert util.IsMerge(merge)
    assert not util.IsLoopMerge(merge)
    assert util.GetOutputContext(by_type["Exit"]) is None


def test_a_graph_has_a_saver_and_a_step_that_counts() -> None:
    """The saver is made once; the step grows by what is asked for."""
    saver = _import("python.training.saver")
    steps = _import("python.training.training_util")
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="get_or_create_global_step"):
            steps._increment_global_step(1)
        step = tf.train.get_or_create_global_step()
        grown = steps._increment_global_step(2)
        assert saver._get_saver_or_default() is saver._get_saver_or_default()
        session.run(tf.global_variables_initializer())
        assert [session.run(grown), session.run(step)] == [2, 2]


def test_summaries_of_a_test_are_kept_in_memory() -> None:
    """A writer of a test takes the place of FileWriter, once."""
    module = _import("contrib.testing.python.framework.fake_summary_writer")
    writer = module.FakeSummaryWriter
    writer.install()
    try:
        with pytest.raises(ValueError, match="already installed"):
            writer.install()
        kept: Any = tf.summary.FileWriterCache.get("nowhere")
        summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)])
        kept.add_summary(summary.SerializeToString(), 3)
        kept.assert_summaries(tf.test.TestCase(), "nowhere", expected_summaries={3: {"loss": 0.5}})
        with pytest.raises(AssertionError):
            kept.assert_summaries(tf.test.TestCase(), expected_summaries={4: {}})
        with pytest.raises(ValueError, match="Invalid global_step"):
            kept.add_graph(None, -1)
    finally:
        writer.uninstall()
        tf.summary.FileWriterCache.clear()
    with pytest.raises(ValueError, match="not installed"):
        writer.uninstall()


def test_summaries_of_files_are_compared(tmp_path: Path) -> None:
    """The last event file of a folder, its summaries, and their numbers at the last step."""
    testing = _import("contrib.testing")
    assert list(testing.latest_events(str(tmp_path))) == []
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step, value in ((1, 0.5), (2, 0.25)):
            summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=value)])
            writer.add_summary(summary, step)
    events = testing.latest_summaries(str(tmp_path))
    assert testing.simple_values_from_events(events, ["loss"]) == {"loss": 0.25}
    testing.assert_summary(["loss"], {"loss": 0.251}, events[1].summary)
    with pytest.raises(AssertionError):
        testing.assert_summary(["loss"], {"loss": 0.5}, events[1].summary)
    with pytest.raises(ValueError, match="Expected tags"):
        testing.assert_summary(["other"], {}, events[1].summary)


def test_meta_graphs_are_compared() -> None:
    """Equal ones pass, whatever the order of their nodes; others fail."""
    util, meta_graph = _util(), _import("python.framework.meta_graph")

    def exported(value: float) -> Any:
        with tf.Graph().as_default():
            tf.Variable(value, name="v")
            return tf.train.export_meta_graph()

    case = tf.test.TestCase()
    util.assert_meta_graph_protos_equal(case, exported(1.0), exported(1.0))
    with pytest.raises(AssertionError):
        util.assert_meta_graph_protos_equal(case, exported(1.0), exported(2.0))
    with tf.Graph().as_default():
        assert list(meta_graph.import_scoped_meta_graph(exported(1.0), import_scope="s")) == ["v:0"]


def test_gradients_of_a_function_are_checked() -> None:
    """Both Jacobians, [size of the result, size of the argument]; the error is a NumPy number."""
    checker = importlib.import_module("tensorflow.python.ops.gradient_checker_v2")
    with tf.Graph().as_default(), tf.Session():
        rows = np.arange(6.0).reshape(3, 2)
        found = checker.compute_gradient(lambda a, b: a * b[:, None], [rows, np.arange(1.0, 4.0)])
        error = checker.max_error(*found)
        x = tf.constant([1.0, 2.0])
        other = tf.test.compute_gradient_error(x, [2], tf.square(x), [2])
    by_ops, by_steps = found

    assert [one.shape for one in by_ops] == [one.shape for one in by_steps] == [(6, 6), (6, 3)]
    np.testing.assert_allclose(by_ops[0], np.diag(np.repeat([1.0, 2.0, 3.0], 2)))
    assert error < 1e-9
    # A text without a place for it takes a number of NumPy, and none of Python.
    assert isinstance(other, np.generic)
    with pytest.raises(ValueError, match="must be a list or tuple"):
        checker.compute_gradient(tf.square, 1.0)
