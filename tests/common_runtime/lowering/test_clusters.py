"""Elementwise nodes over large arrays run tile by tile: same bits, no foreign array overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf
from tests.common_runtime.lowering.test_control_flow import sources
from tests.traced_memory import traced_memory
from tests.without_kernels import without_kernels
from tfnb.common_runtime.executor.immutable_executor_state import LARGE_BYTES
from tfnb.common_runtime.lowering.recognise.program import Cluster, Compute
from tfnb.common_runtime.lowering.rewrite.clusters import plan_tile
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = LARGE_BYTES // 4 + 1000
UNARY = [tf.negative, tf.square, tf.tanh, tf.sigmoid, tf.nn.relu, tf.abs, tf.sin, tf.exp]
BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.divide]


def ramp(size: int = LARGE) -> Any:
    """A large array."""
    return np.linspace(-2.0, 2.0, size, dtype=np.float32)


def both_ways(build: Callable[[Any], Any], value: Any) -> str:
    """Run ``build(placeholder)`` both ways on an array; return the source."""
    answers, source = [], ""
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            x = tf.placeholder(tf.float32, None)
            fetches = build(x)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for _ in range(2):
                    found = session.run(fetches, {x: value})
                    answers.append([(one.dtype, one.shape, one.tobytes()) for one in found])
                source = "".join(sources(session))
    assert all(answer == answers[0] for answer in answers)
    return source


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40)), max_size=14))
def test_random_formulas_have_the_same_bits(choices):
    """Random formulas have results used twice, fetched results, and numbers as operands."""

    def build(x):
        values = [x, tf.constant(0.5), tf.square(x)]
        for op, a, b in choices:
            left, right = values[a % len(values)], values[b % len(values)]
            if op % 3:
                values.append(BINARY[op % len(BINARY)](left, right))
            else:
                values.append(UNARY[op % len(UNARY)](left))
        return [tf.identity(values[-1]), tf.identity(values[len(values) // 2]), x + values[-1]]

    with np.errstate(all="ignore"):
        both_ways(build, ramp())


def test_a_chain_is_one_cluster_and_its_nodes_are_in_the_source():
    """The source has one line for the cluster, and below it a line for each node."""
    source = both_ways(lambda x: [tf.tanh(x * 2.0 + 1.0) - 3.0], ramp())
    assert "= tiles1(" in source
    assert "def tiles1_tile(v" in source
    assert source.count("'Tanh' (Tanh)") == 2


@pytest.mark.parametrize("value", [[1.0, 2.0], 3.0, ramp(), ramp().reshape(2, -1), ramp(0)])
def test_small_arrays_run_node_by_node(value):
    """Small arrays and scalars run node by node."""
    both_ways(lambda x: [tf.tanh(x * 2.0 + 1.0) - 3.0], value)


def test_shapes_that_have_to_be_broadcast_run_node_by_node():
    """Broadcasting runs node by node; shapes that do not fit raise the usual error."""
    value = ramp(1 << 20).reshape(1024, -1)
    both_ways(lambda x: [(x + tf.reduce_sum(x, 0)) * 2.0 - 1.0], value)
    with lowering(Lowering.ALWAYS), tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, None), tf.placeholder(tf.float32, None)
        z = tf.negative(x * y)
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Incomp"):
            session.run(z, {x: value, y: ramp()})


@pytest.mark.parametrize("when", [Lowering.ALWAYS, Lowering.NEVER])
def test_no_foreign_array_is_overwritten(when):
    """Feeds, variables, constants, fetched values, views and their sources are not overwritten."""
    given = ramp()
    kept = given.copy()
    with lowering(when), tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        v = tf.Variable(kept, use_resource=True)
        ref = tf.Variable(kept, use_resource=False)
        constant = tf.constant(kept)
        made = tf.cumsum(x)
        view = tf.reshape(made, [2, -1])
        fetches = [
            tf.negative(tf.square(x)),
            tf.negative(tf.square(v.read_value())),
            tf.negative(tf.square(ref)),
            tf.negative(tf.square(constant + x)),
            tf.negative(tf.square(view)),
            made,
        ]
        lonely = tf.negative(tf.square(tf.reshape(tf.cumsum(x), [2, -1])))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                *squares, whole = session.run(fetches, {x: given})
                assert np.array_equal(given, kept)
                assert np.array_equal(whole, np.cumsum(kept))
                assert np.array_equal(squares[4].ravel(), -(whole * whole))
                for square in squares[:3]:
                    assert np.array_equal(square, -(kept * kept))
                assert np.array_equal(session.run(lonely, {x: given}), squares[4])
                assert np.array_equal(session.run(v), kept)
                assert np.array_equal(session.run(ref), kept)


@pytest.mark.parametrize("when", [Lowering.ALWAYS, Lowering.NEVER])
def test_a_chain_needs_room_for_one_array(when):
    """The result of fifty nodes overwrites the input, also in the first steps.

    A step that records shapes for compiled kernels holds the input until the nodes have run.
    """
    with lowering(when), without_kernels(), tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = tf.fill([1 << 21], x)
        for number in range(50):
            y = tf.add(y, y) if number % 2 else tf.multiply(y, 0.5)
        total = tf.reduce_sum(y)
        with tf.Session() as session:
            session.run(total, {x: 1.0})
            with traced_memory() as memory:
                assert session.run(total, {x: 1.0}) == 1 << 21
    assert memory.peak < 1.4 * 4 * (1 << 21)


def test_a_plan_writes_over_nothing_that_is_read_later():
    """Each order of reads and writes of a tile is checked by running the plan on sets."""
    names = iter("abcdefgh")

    def node(*args):
        return Compute(None, list(args), [next(names)])  # type: ignore[arg-type]

    members = [node("x", "y"), node("x", "x"), node("a", "b"), node("y", "c"), node("d", "x")]
    cluster = Cluster(1, ["x", "y"], "e", list(members))
    for over in ("", "x", "y"):
        plan = plan_tile(cluster, over)
        held = {"x": "x", "y": "y"}
        if over:
            held["out"] = over
        for member, target, places in zip(members, plan.targets, plan.places, strict=True):
            for arg in member.args:
                place = places.get(arg, "out" if arg == over else arg)
                assert held[place] == arg
            held[target] = member.results[0]
        assert held["out"] == "e"


def channels(value: Any, build: Callable[[Any, Any, Any], Any]) -> str:
    """Run ``build(placeholder, vector, vector)`` both ways; vectors are values of variables."""
    count = value.shape[-1]

    def with_vectors(x: Any) -> list[Any]:
        first = tf.Variable(np.linspace(-1, 1, count, dtype=np.float32))
        second = tf.Variable(np.linspace(2, -2, count, dtype=np.float32))
        return [build(x, first, second)]

    return both_ways(with_vectors, value)


@pytest.mark.parametrize("count", [1, 7, 32, 100, 5000])
@pytest.mark.parametrize("rows", [2, 13, 64])
def test_vectors_of_channels_have_a_number_for_each_position(count: int, rows: int) -> None:
    """Few and many channels are compared, and positions that do or do not make whole rows."""
    positions = -(-LARGE // (count * rows)) * rows
    value = np.linspace(-3, 3, positions * count, dtype=np.float32).reshape(rows, -1, count)
    for build in (
        lambda x, a, b: tf.nn.relu6(x * a + b),
        lambda x, a, b: tf.nn.relu(tf.nn.bias_add(tf.sin(x), a)),
        lambda x, a, b: tf.tanh(b - tf.nn.bias_add(x * tf.square(a), b)),
        lambda x, a, b: tf.maximum(x, a) + (x - tf.nn.bias_add(x, b)),
    ):
        assert "= tiles1(" in channels(value, build)


@pytest.mark.parametrize("shape", [(LARGE,), (1, LARGE), (2, LARGE)])
def test_a_vector_that_is_as_large_as_the_array(shape: tuple[int, ...]) -> None:
    """The op decides whether a vector of the array's size is a vector of channels."""
    value = np.resize(ramp(), shape)
    channels(value, lambda x, a, b: tf.tanh(x * a - b) + x)
    if len(shape) > 1:
        channels(value, lambda x, a, b: tf.tanh(tf.nn.bias_add(x, a)) - b)


def test_a_bias_that_is_no_vector_is_refused_by_its_node() -> None:
    """A bias that is not a vector is refused, even if it could be added as an array."""
    errors = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            x = tf.placeholder(tf.float32, None)
            bias = tf.placeholder(tf.float32, None)
            y = tf.tanh(tf.nn.bias_add(x, bias, name="add"))
            value = np.ones((4, LARGE), np.float32)
            with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as met:
                session.run(y, {x: value, bias: value})
            errors.append((met.value.op.name, met.value.message))
    assert errors[0] == errors[1]
    assert errors[0][0] == "add"


def test_images_of_nchw_whose_channels_come_last_in_memory_are_tiled() -> None:
    """The bits are those of the nodes one by one; channels and numbers spread over the image."""
    shape = (3, 16, -(-LARGE // 768), 16)
    value, channels = np.resize(ramp(), shape), np.linspace(-1, 1, 16, dtype=np.float32)

    def build(x: Any) -> list[Any]:
        turned = tf.transpose(x, [0, 3, 1, 2])
        scaled = tf.tanh(turned * channels.reshape(1, 16, 1, 1) + 0.5)
        other = tf.square(turned) - scaled  # over one of its inputs
        return [scaled, tf.tanh(other) * 2.0]

    tiled, plain = _results(build, value, Lowering.ALWAYS), _results(build, value, Lowering.NEVER)
    for got, want in zip(tiled, plain, strict=True):
        np.testing.assert_array_equal(got, want)
    want = np.tanh(np.moveaxis(value, -1, 1) * channels.reshape(1, 16, 1, 1) + np.float32(0.5))
    np.testing.assert_allclose(tiled[0], want, rtol=1e-5, atol=1e-6)


def test_a_vector_of_columns_is_not_taken_for_one_of_channels() -> None:
    """An image of NCHW has as many columns as channels, and its channels come last in memory."""
    value = np.resize(ramp(), (3, 16, -(-LARGE // 768), 16))
    columns = np.linspace(-1, 1, 16, dtype=np.float32)

    def build(x: Any) -> list[Any]:
        return [tf.tanh(tf.transpose(x, [0, 3, 2, 1]) + columns) * 2.0]

    both_ways(build, value)
    (got,) = _results(build, value.transpose(0, 1, 2, 3), Lowering.ALWAYS)
    want = np.tanh(value.transpose(0, 3, 2, 1) + columns) * np.float32(2)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def _results(build: Callable[[Any], Any], value: Any, when: Lowering) -> list[Any]:
    with lowering(when), tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, value.shape)
        fetches = build(x)
        session.run(fetches, {x: value})
        found: list[Any] = session.run(fetches, {x: value})
    return found


def test_channels_in_front_are_added_plainly() -> None:
    """A bias for channels in front is not part of a cluster."""
    value = np.resize(ramp(), (2, 3, -(-LARGE // 36), 6))

    def build(x: Any) -> list[Any]:
        bias = tf.Variable(np.array([1.0, 2.0, 3.0], np.float32))
        return [tf.tanh(tf.nn.bias_add(x, bias, data_format="NCHW")) * 2.0]

    source = both_ways(build, value)
    tiles = source[source.index("def tiles1_tile") :]
    assert "BiasAdd" not in tiles
