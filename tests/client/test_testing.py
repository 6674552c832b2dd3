"""``tf.test``: its assertions pass and fail where they should."""

from __future__ import annotations

import collections
import dataclasses
import io
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def case() -> Iterator[tf.test.TestCase]:
    """A test case that is being run."""
    with tf.Graph().as_default():
        pass
    case = tf.test.TestCase()
    case.setUp()
    yield case
    case.tearDown()
    tf.reset_default_graph()


def refused(assertion: Any, *arguments: Any, **options: Any) -> bool:
    """Return whether an assertion fails."""
    try:
        assertion(*arguments, **options)
    except AssertionError:
        return True
    return False


def test_setup_gives_an_empty_graph_with_a_seed(case: tf.test.TestCase) -> None:
    """Every test begins with an empty graph and the same seed."""
    assert tf.get_default_graph().get_operations() == []
    assert tf.get_default_graph().seed is not None
    with case.session() as sess:
        first = sess.run(tf.random_uniform([]))
    case.setUp()
    with case.session() as sess:
        assert first == sess.run(tf.random_uniform([]))


def test_setup_leaves_graphs_that_a_failed_test_entered(case: tf.test.TestCase) -> None:
    """They would refuse ``reset_default_graph``."""
    left = tf.Graph().as_default()
    left.__enter__()
    case.setUp()
    assert tf.get_default_graph().get_operations() == []
    tf.reset_default_graph()


def test_session_is_the_default_one(case: tf.test.TestCase) -> None:
    """The session and its graph are defaults in the block; afterwards it is closed."""
    graph = tf.Graph()
    with case.session(graph=graph) as sess:
        assert tf.get_default_graph() is graph
        assert case.evaluate(tf.constant(3)) == 3
    assert sess._closed


def test_cached_session_is_one_for_the_whole_test(case: tf.test.TestCase) -> None:
    """Variables keep their values between blocks of cached_session."""
    with case.cached_session() as sess:
        v = tf.Variable(4.0)
        sess.run(v.initializer)
    with case.test_session() as again:
        assert again is sess
        assert case.evaluate(v) == 4.0


def test_values_come_from_one_session_for_the_whole_test(case: tf.test.TestCase) -> None:
    """What an evaluated initializer has set stays; another graph gets a session of its own."""
    v = tf.get_variable("v", initializer=4.0)
    case.evaluate(v.initializer)
    assert case.evaluate(v) == 4.0
    with tf.Graph().as_default():
        assert case.evaluate(tf.constant(3)) == 3
    assert case.evaluate(v) == 4.0


def test_nodes_of_a_test_may_run_on_another_device(case: tf.test.TestCase) -> None:
    """Unless the test's configuration says otherwise, or forces a GPU."""
    with tf.device("/cpu:1"):
        one = tf.constant(1)
    assert case.evaluate(one) == 1
    with case.session() as sess:
        assert sess.run(one) == 1
    with case.session(config=tf.ConfigProto()) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
            sess.run(one)
    soft = tf.ConfigProto(allow_soft_placement=True)
    with case.session(config=soft, force_gpu=True) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
            sess.run(one)
    assert soft.allow_soft_placement


def test_device_can_be_chosen(case: tf.test.TestCase) -> None:
    """use_gpu=False keeps ops on the CPU."""
    with case.session(use_gpu=False):
        assert tf.constant(1).device == "/device:CPU:0"


def test_all_equal(case: tf.test.TestCase) -> None:
    """Arrays, tensors, text and NaN are compared, including shapes."""
    with case.session():
        case.assertAllEqual([1, 2], tf.constant([1, 2]))
    case.assertAllEqual([np.nan, 1.0], np.array([np.nan, 1.0]))
    case.assertAllEqual(["a", "b"], np.array([b"a", b"b"], object))
    assert refused(case.assertAllEqual, [1, 2], [1, 3])
    assert refused(case.assertAllEqual, [1, 2], [[1, 2]])
    case.assertNotAllEqual([1, 2], [1, 3])
    assert refused(case.assertNotAllEqual, [1, 2], [1, 2])


def test_differences_are_listed(case: tf.test.TestCase) -> None:
    """The message has places and both values."""
    with pytest.raises(
        AssertionError, match=r"1 of 4 elements differ(.|\n)*\[1, 0\]: .*3.* and .*9"
    ):
        case.assertAllEqual([[1, 2], [3, 4]], [[1, 2], [9, 4]])


def test_all_close(case: tf.test.TestCase) -> None:
    """Numbers, arrays, dicts and tuples are compared."""
    case.assertAllClose(1.0, 1.0 + 1e-7)
    case.assertAllClose({"a": [1.0, (2.0, 3.0)]}, {"a": [1.0, (2.0, 3.0)]})
    Pair = collections.namedtuple("Pair", "x y")  # noqa: PYI024
    case.assertAllClose(Pair(1.0, [2.0]), Pair(1.0, [2.0]))
    assert refused(case.assertAllClose, {"a": 1.0}, {"b": 1.0})
    assert refused(case.assertAllClose, [1.0], [1.1])
    case.assertAllClose([1.0], [1.1], atol=0.2)
    case.assertNotAllClose([1.0], [1.1])
    assert refused(case.assertNotAllClose, [1.0], [1.0])


def test_tolerance_follows_the_dtype(case: tf.test.TestCase) -> None:
    """Half precision has a larger tolerance."""
    assert refused(case.assertAllCloseAccordingToType, np.float32([1.0]), np.float32([1.0005]))
    case.assertAllCloseAccordingToType(np.float16([1.0]), np.float32([1.0005]))


@dataclasses.dataclass
class _Point:
    x: int


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("assertNear", (1.0, 1.05, 0.1), (1.0, 1.2, 0.1)),
        ("assertArrayNear", ([1.0], [1.05], 0.1), ([1.0], [1.2], 0.1)),
        ("assertNDArrayNear", ([1.0], [1.05], 0.1), ([1.0], [1.2], 0.1)),
        ("assertAllGreater", ([2, 3], 1), ([2, 3], 2)),
        ("assertAllLess", ([2, 3], 4), ([2, 3], 3)),
        ("assertAllGreaterEqual", ([2, 3], 2), ([2, 3], 3)),
        ("assertAllLessEqual", ([2, 3], 3), ([2, 3], 2)),
        ("assertAllInRange", ([1.0, 2.0], 1, 2), ([1.0, 2.0], 1.5, 2)),
        ("assertAllInSet", ([1, 2], {1, 2, 3}), ([1, 4], {1, 2, 3})),
        ("assertItemsEqual", ([1, 2], [2, 1]), ([1, 2], [2, 2])),
        ("assertStartsWith", ("abc", "ab"), ("abc", "b")),
        ("assertDeviceEqual", ("/cpu:0", "/device:CPU:0"), ("/cpu:0", "/cpu:1")),
    ],
)
def test_other_assertions(case: tf.test.TestCase, name: str, good: Any, bad: Any) -> None:
    """Each assertion passes in one case and fails in another."""
    assertion = getattr(case, name)
    assertion(*good)
    assert refused(assertion, *bad)


def test_shapes_and_messages_are_compared(case: tf.test.TestCase) -> None:
    """A static shape is compared with an array's, a message with text."""
    case.assertShapeEqual(np.zeros([2, 3]), tf.zeros([2, 3]))
    assert refused(case.assertShapeEqual, np.zeros([2]), tf.zeros([2, 3]))
    case.assertProtoEquals("name: 'a'", tf.NodeDef(name="a"))
    assert refused(case.assertProtoEquals, "name: 'b'", tf.NodeDef(name="a"))


def test_errors_are_expected(case: tf.test.TestCase) -> None:
    """Errors are matched by class and text, or by a predicate."""
    x = tf.placeholder(tf.float32)
    with case.session() as sess:
        with case.assertRaisesOpError("must feed a value"):
            sess.run(x + 1.0)
        with case.assertRaisesWithPredicateMatch(
            tf.errors.OpError, lambda e: e.op.type == "Placeholder"
        ):
            sess.run(x + 1.0)
        with pytest.raises(AssertionError, match="not raised"):
            with case.assertRaisesOpError("x"):
                sess.run(tf.constant(1))
        with pytest.raises(AssertionError, match="unexpected text"):
            with case.assertRaisesOpError("something else"):
                sess.run(x + 1.0)


def test_a_checked_thread_fails_the_test(case: tf.test.TestCase) -> None:
    """join of a checked thread raises its error."""
    good, bad = case.checkedThread(lambda: None), case.checkedThread(lambda: 1 // 0)
    for thread in (good, bad):
        thread.start()
    good.join()
    with pytest.raises(AssertionError, match="division"):
        bad.join()


def test_temp_dir_is_the_test_s_own(case: tf.test.TestCase) -> None:
    """Each test has an existing directory of its own."""
    path = case.get_temp_dir()
    assert os.path.isdir(path)
    assert path.startswith(tf.test.get_temp_dir())
    assert path == case.get_temp_dir()
    os.rmdir(path)


def test_gradients_are_compared_with_differences(case: tf.test.TestCase) -> None:
    """The error of a gradient is small if it is right and large if it is wrong."""
    with case.session():
        x = tf.constant([[1.0, 2.0]])
        assert tf.test.compute_gradient_error(x, [1, 2], x * x, [1, 2]) < 1e-2
        blocked = x * tf.stop_gradient(x)
        assert tf.test.compute_gradient_error(x, [1, 2], blocked, [1, 2]) > 0.1
        by_ops, by_differences = tf.test.compute_gradient(
            x, [1, 2], x * 3.0, [1, 2], x_init_value=[[5.0, 6.0]]
        )
        assert by_ops.tolist() == [[3.0, 0.0], [0.0, 3.0]]
        case.assertAllClose(by_ops, by_differences, atol=1e-2)


def test_a_complex_element_counts_as_two_real_ones(case: tf.test.TestCase) -> None:
    """In both Jacobians, as derivatives of the real and the imaginary part by those of x."""
    with case.session():
        x = tf.constant([1 + 2j], tf.complex128)
        for y, y_shape, expected in (
            (x * x, [1], [[2.0, 4.0], [-4.0, 2.0]]),
            (tf.conj(x), [1], [[1.0, 0.0], [0.0, -1.0]]),
            (tf.real(x)[0], [], [[1.0], [0.0]]),
        ):
            pair = tf.test.compute_gradient(x, [1], y, y_shape, x_init_value=[1 + 2j])
            for found in pair:
                assert found.dtype == np.float64
                case.assertAllClose(found, expected)
        assert tf.test.compute_gradient_error(x, [1], x * x, [1]) < 1e-9


def test_graphs_are_compared_node_by_node() -> None:
    """Nodes are compared in any order."""
    one, other = tf.GraphDef(), tf.GraphDef()
    one.node.add(name="a", op="NoOp")
    one.node.add(name="b", op="NoOp")
    other.node.add(name="b", op="NoOp")
    with pytest.raises(AssertionError, match=r"\['a'\] are in one only"):
        tf.test.assert_equal_graph_def(one, other)
    other.node.add(name="a", op="NoOp")
    tf.test.assert_equal_graph_def(one, other)
    other.node[0].op = "Const"
    with pytest.raises(AssertionError, match="Node 'b' differs"):
        tf.test.assert_equal_graph_def(one, other)


def test_gpu_is_reported_as_sessions_see_it() -> None:
    """The name of the GPU device is returned, or an empty string."""
    assert tf.test.is_gpu_available() == bool(tf.test.gpu_device_name())


def test_reset_state_forgets_what_a_failed_test_left() -> None:
    """Graphs, sessions and interactive sessions that a failed test left open are removed."""
    tf.Graph().as_default().__enter__()
    left = tf.Session()
    left.as_default().__enter__()
    interactive = tf.InteractiveSession(graph=tf.Graph())
    tf.testing.reset_state()
    assert tf.get_default_session() is None
    assert tf.get_default_graph().get_operations() == []
    with pytest.raises(RuntimeError, match="closed"):
        interactive.run(tf.constant(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none is active any more
        tf.InteractiveSession().close()
    left.close()
    tf.testing.reset_state()


def test_reset_state_gives_a_new_graph() -> None:
    """The earlier default graph is unchanged."""
    old = tf.get_default_graph()
    tf.testing.reset_state()
    assert tf.get_default_graph() is not old


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("assertEmpty", ([],), ([1],)),
        ("assertNotEmpty", ([1],), ([],)),
        ("assertLen", ("ab", 2), ("ab", 3)),
        ("assertBetween", (2, 1, 2), (3, 1, 2)),
        ("assertContainsSubset", ([1], [1, 2]), ([3], [1, 2])),
        ("assertNoCommonElements", ([1], [2]), ([1], [1, 2])),
        ("assertSameElements", ([1, 2, 1], [2, 1]), ([1], [1, 2])),
        ("assertEndsWith", ("ab", "b"), ("ab", "a")),
        ("assertRegexMatch", ("abc", ["x", "b."]), ("abc", ["x"])),
        ("assertSequenceAlmostEqual", ([1.0], [1.0 + 1e-9]), ([1.0], [1.1])),
        ("assertUnique", ([1, 2],), ([1, 1],)),
        ("assertDTypeEqual", (np.float32(1), tf.float32), (np.float32(1), tf.float64)),
        ("assertAllFinite", ([1.0],), ([float("inf")],)),
        ("assertAllNan", ([float("nan")],), ([1.0],)),
        ("assertSequenceStartsWith", ([1, 2], [1, 2, 3]), ([2], [1, 2])),
        ("assertSequenceStartsWith", ([], []), ([], [1])),
        ("assertContainsSubsequence", ([1, 2, 3], [1, 3]), ([1, 2, 3], [3, 1])),
        ("assertContainsExactSubsequence", ([1, 2, 3], [2, 3]), ([1, 2, 3], [1, 3])),
        ("assertContainsInOrder", (["a", "c"], "abc"), (["c", "a"], "abc")),
        ("assertTotallyOrdered", ([1], [2, 2.0], [3]), ([2], [1])),
        ("assertTotallyOrdered", ([1, 1],), ([1, 2],)),
        ("assertNotStartsWith", ("ab", "b"), ("ab", "a")),
        ("assertNotEndsWith", ("ab", "a"), ("ab", "b")),
        ("assertIsSubclass", (bool, int), (int, bool)),
        ("assertNotIsSubclass", (int, bool), (bool, int)),
        ("assertDictAlmostEqual", ({"a": 1.0}, {"a": 1.0 + 1e-9}), ({"a": 1.0}, {"a": 1.1})),
        ("assertMappingEqual", ({1: 2}, {1: 2}), ({1: 2}, {1: 3})),
        ("assertDataclassEqual", (_Point(1), _Point(1)), (_Point(1), _Point(2))),
        ("assertUrlEqual", ("http://a/b?x=1&y=2", "http://a/b?y=2&x=1"), ("http://a", "http://b")),
        ("assertJsonEqual", ('{"a": [1]}', '{ "a" : [1] }'), ('{"a": [1]}', '{"a": [2]}')),
        ("assertSameStructure", ([{"a": (1, 2)}], [{"a": (1, 2)}]), ([1], [1, 2])),
        ("assertDictEqual", ({"a": np.ones(2)}, {"a": np.ones(2)}), ({"a": 1}, {"a": 2})),
        ("assertItemsEqual", ([1, 2], [2, 1]), ([1], [2])),
    ],
)
def test_more_assertions_refuse_what_they_should(
    case: tf.test.TestCase, name: str, good: Any, bad: Any
) -> None:
    """Each assertion passes for right values and fails for wrong ones."""
    assertion = getattr(case, name)
    assert not refused(assertion, *good)
    assert refused(assertion, *bad)


def test_structures_say_where_they_differ(case: tf.test.TestCase) -> None:
    """The message has the paths of the first differences."""
    with pytest.raises(AssertionError, match=r"a\['k'\]\[1\] is 2 but b\['k'\]\[1\] is 3"):
        case.assertSameStructure({"k": [1, 2]}, {"k": [1, 3]})


def test_errors_are_compared_word_for_word(case: tf.test.TestCase) -> None:
    """Expected errors are checked in a with block or a call."""
    with case.assertRaisesWithLiteralMatch(ValueError, "a.c"):
        raise ValueError("a.c")
    case.assertRaisesWithLiteralMatch(
        ValueError, "invalid literal for int() with base 10: 'x'", int, "x"
    )
    with pytest.raises(AssertionError):
        with case.assertRaisesWithLiteralMatch(ValueError, "a.c"):
            raise ValueError("abc")


def test_commands_files_and_streams_of_a_test(case: tf.test.TestCase) -> None:
    """Commands have their exit codes; files are deleted with the test.

    Captured output can be read.
    """
    case.assertCommandSucceeds([sys.executable, "-c", "print('yes')"], ["yes"])
    case.assertCommandFails([sys.executable, "-c", "raise SystemExit('no')"], [b"no"])
    assert refused(case.assertCommandFails, [sys.executable, "-c", ""], [""])
    file = case.create_tempfile("sub/name.txt", content="text")
    assert file.read_text() == "text"
    folder = case.create_tempdir("inner")
    assert Path(folder).is_dir()
    stream = io.StringIO()
    with case.captureWritesToStream(stream) as captured:
        stream.write("hidden")
    assert (captured.contents(), stream.getvalue()) == ("hidden", "")
    case.doCleanups()
    assert not Path(file.full_path).exists()


def test_graphs_are_compared_with_their_versions(case: tf.test.TestCase) -> None:
    """Versions are not in the expected text; other versions fail."""
    with tf.Graph().as_default() as graph:
        tf.no_op(name="a")
    text = 'node { name: "a" op: "NoOp" }'
    found = graph.as_graph_def()
    case.assertProtoEqualsVersion(text, found)
    with pytest.raises(AssertionError):
        case.assertProtoEqualsVersion(text, found, producer=21)


def test_shapes_that_do_not_fit_are_expected(case: tf.test.TestCase) -> None:
    """The error may be raised while building or running, with either text."""
    with tf.Graph().as_default(), tf.Session() as session:
        with case.assertRaisesIncompatibleShapesError(ValueError):
            tf.constant([1, 2]) + tf.constant([1, 2, 3])
        one, other = (tf.placeholder_with_default([1] * n, [None]) for n in (2, 3))
        with case.assertRaisesIncompatibleShapesError():
            session.run(one + other)


def test_two_tensors_are_computed_together(case: tf.test.TestCase) -> None:
    """Two tensors are evaluated in one run; other values are not changed."""
    with tf.Graph().as_default(), tf.Session().as_default():
        assert case.evaluate_if_both_tensors(tf.constant(1), tf.constant(2)) == (1, 2)
        mixed = tf.constant(1), 2
        assert case.evaluate_if_both_tensors(*mixed) == mixed


def test_notes_of_a_test_and_of_its_parts() -> None:
    """A subtest has the properties of its test, and its own override them."""
    found: list[Any] = []

    class Case(tf.test.TestCase):
        def test_it(self) -> None:
            self.record_property("where", "test")
            self.record_property("kind", "whole")
            with self.subTest("part"):
                self.record_property("where", "part")
                part = self._subtest
                found.append(self.get_recorded_properties())
            found.extend([self.get_recorded_properties(), self.get_recorded_properties(part)])

    assert Case("test_it").run().wasSuccessful()
    whole = {"where": "test", "kind": "whole"}
    assert found == [{**whole, "where": "part"}, whole, {"where": "part"}]


def test_ragged_values_are_compared_as_lists() -> None:
    """Tensors, values and lists; rows of other lengths differ."""
    case = tf.test.TestCase()
    with tf.Graph().as_default(), tf.Session():
        ragged = tf.ragged.constant([[1, 2], [3]])
        case.assertAllEqual(ragged, [[1, 2], [3]])
        case.assertAllEqual(tf.ragged.constant_value([[1, 2], [3]]), ragged)
        with pytest.raises(AssertionError):
            case.assertAllEqual(ragged, [[1], [2, 3]])
