"""The effect of each rule of the arithmetic optimizer, and the cases it must not change."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Not counted, because these nodes only pass values in and out.
_ENDS = ("_Arg", "_Retval", "Const", "Identity", "NoOp")


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def config(**toggles: int) -> tf.ConfigProto:
    """Optimizers on graphs of any size, nothing else."""
    found = tf.ConfigProto()
    found.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L1
    found.graph_options.rewrite_options.min_graph_nodes = -1
    for name, value in toggles.items():
        setattr(found.graph_options.rewrite_options, name, value)
    return found


def ops_after(fetch: Any, feeds: dict[Any, Any], options: Any = None) -> list[str]:
    """Return the remaining ops of a run, sorted.

    Check that values are those without optimization.
    """
    off = tf.ConfigProto()
    off.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Session(config=off) as session:
        expected = session.run(fetch, feeds)
    with tf.Session(config=options or config()) as session:
        found = session.run(fetch, feeds)
        prepared = session.runtime.prepare(tuple(t.name for t in feeds), (fetch.name,), ())
        nodes = prepared.executors.items[0].graph.op_nodes()
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc")
        assert found.dtype == expected.dtype
        return sorted((Counter(n.op for n in nodes if n.op not in _ENDS)).elements())


def f(x: float) -> Any:
    """A float constant."""
    return tf.constant(x, tf.float32)


def known(x: Any) -> Any:
    """Return a contiguous tensor of known shape (2, 3)."""
    return tf.matmul(tf.reshape(x, [2, 3]), tf.constant(np.eye(3, dtype=np.float32)))


X = np.arange(6, dtype=np.float32).reshape(2, 3)
FLOAT_RULES: list[tuple[str, Callable[[Any], Any], list[str]]] = [
    ("times one", lambda x: tf.exp(x) * 1.0, ["Exp"]),
    ("one times", lambda x: f(1) * tf.exp(x), ["Exp"]),
    ("divided by one", lambda x: tf.exp(x) / 1.0, ["Exp"]),
    ("minus zero", lambda x: tf.exp(x) - 0.0, ["Exp"]),
    ("plus minus zero", lambda x: tf.exp(x) + f(-0.0), ["Exp"]),
    ("plus zero stays", lambda x: tf.exp(x) + 0.0, ["AddV2", "Exp"]),
    ("minus minus zero stays", lambda x: tf.exp(x) - f(-0.0), ["Exp", "Sub"]),
    ("times zero stays", lambda x: tf.exp(x) * 0.0, ["Exp", "Mul"]),
    ("of unknown layout stays", lambda x: x * 1.0, ["Mul"]),
    ("broader one stays", lambda x: tf.exp(x) * tf.ones([1, 2, 3]), ["Exp", "Mul"]),
    ("one of the same shape", lambda x: known(x) * tf.ones([2, 3]), ["MatMul", "Reshape"]),
    ("negated twice", lambda x: tf.negative(-tf.exp(x)), ["Exp"]),
    ("relu twice", lambda x: tf.nn.relu(tf.nn.relu(x)), ["Relu"]),
    ("abs of neg", lambda x: tf.abs(-tf.exp(x)), ["Abs", "Exp"]),
    ("square of neg", lambda x: tf.square(-tf.exp(x)), ["Exp", "Square"]),
    ("plus negated", lambda x: x + -tf.exp(x), ["Exp", "Sub"]),
    ("negated plus", lambda x: -tf.exp(x) + x, ["Exp", "Sub"]),
    ("minus negated", lambda x: x - -tf.exp(x), ["AddV2", "Exp"]),
    ("not less stays", lambda x: tf.logical_not(known(x) < 2.0),
     ["Less", "LogicalNot", "MatMul", "Reshape"]),
    ("not equal", lambda x: tf.logical_not(tf.equal(known(x), 2.0)),
     ["MatMul", "NotEqual", "Reshape"]),
    ("squared difference", lambda x: tf.square(known(x) - 2.0),
     ["MatMul", "Reshape", "SquaredDifference"]),
    ("power two", lambda x: tf.pow(x, 2.0), ["Square"]),
    ("power three", lambda x: tf.pow(tf.exp(x), 3.0), ["Exp", "Mul", "Square"]),
    ("power four stays", lambda x: tf.pow(x, 4.0), ["Pow"]),
    ("powers two stay", lambda x: tf.pow(x, [2.0, 2.0, 2.0]), ["Pow"]),
    ("sum of one", lambda x: tf.raw_ops.AddN(inputs=[x]), []),
    ("max of twice the same", lambda x: tf.maximum(tf.exp(x), tf.exp(x)), ["Exp"]),
    ("factor stays", lambda x: x * f(2) + x * f(3), ["AddV2", "Mul", "Mul"]),
    ("there and back", lambda x: tf.cast(tf.cast(tf.exp(x), tf.float64), tf.float32), ["Exp"]),
    ("lossy cast stays", lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32), ["Cast", "Cast"]),
    ("same bytes", lambda x: tf.bitcast(tf.bitcast(known(x), tf.int32), tf.float32),
     ["MatMul", "Reshape"]),
    ("transposed back", lambda x: tf.transpose(tf.transpose(known(x))), ["MatMul", "Reshape"]),
    ("transposed of unknown rank stays", lambda x: tf.transpose(tf.transpose(x, [1, 0]), [1, 0]),
     ["Transpose", "Transpose"]),
    ("reversed back", lambda x: tf.reverse(tf.reverse(known(x), [1]), [-1]), ["MatMul", "Reshape"]),
    ("reshaped twice", lambda x: tf.reshape(tf.reshape(known(x), [6]), [3, 2]),
     ["MatMul", "Reshape", "Reshape"]),
    ("reshape that may fail stays", lambda x: tf.reshape(tf.reshape(x, [6]), [3, 2]),
     ["Reshape", "Reshape"]),
    ("reshaped to the same", lambda x: tf.reshape(known(x), [2, -1]), ["MatMul", "Reshape"]),
    ("expanded and squeezed", lambda x: tf.squeeze(tf.expand_dims(known(x), 1), [1]),
     ["MatMul", "Reshape"]),
    ("tiled once", lambda x: tf.tile(known(x), [1, 1]),
     ["MatMul", "Reshape"]),
    ("padded with nothing", lambda x: tf.pad(known(x), [[0, 0]] * 2),
     ["MatMul", "Reshape"]),
    ("sliced whole", lambda x: tf.slice(known(x), [0, 0], [2, -1]),
     ["MatMul", "Reshape"]),
    ("split in one", lambda x: tf.split(known(x), 1)[0],
     ["MatMul", "Reshape"]),
    ("reduced over no axis", lambda x: tf.reduce_sum(x, axis=[]), []),
    ("broadcast to the same", lambda x: tf.broadcast_to(tf.exp(known(x)), [2, 3]),
     ["Exp", "MatMul", "Reshape"]),
    ("ensured shape", lambda x: tf.ensure_shape(known(x), [None, 3]), ["MatMul", "Reshape"]),
    ("shape of the known", lambda x: tf.raw_ops.Shape(input=known(x)), ["MatMul", "Reshape"]),
    ("identity", lambda x: tf.identity(tf.stop_gradient(x)), []),
]  # fmt: skip


@pytest.mark.parametrize(("build", "ops"), [row[1:] for row in FLOAT_RULES],
                         ids=[row[0] for row in FLOAT_RULES])  # fmt: skip
def test_rules_of_floating_point_numbers(build: Callable[[Any], Any], ops: list[str]) -> None:
    """Rules respect NaN, -0.0, rounding and unknown shapes."""
    x = tf.placeholder(tf.float32)
    assert ops_after(build(x), {x: X}) == ops


INTS = np.array([[5, -7, 2**31 - 1], [0, 1, -(2**31)]], np.int32)
INT_RULES: list[tuple[str, Callable[[Any], Any], list[str]]] = [
    ("plus zero", lambda x: x + 0, []),
    ("times zero", lambda x: tf.reshape(x, [2, 3]) * 0, ["Reshape"]),
    ("times zero of unknown shape stays", lambda x: x * 0, ["Mul"]),
    ("minus itself", lambda x: (lambda y: y - y)(tf.reshape(x, [2, 3])), ["Reshape"]),
    ("and all bits", lambda x: tf.bitwise.bitwise_and(x, -1), []),
    ("or nothing", lambda x: tf.bitwise.bitwise_or(x, 0), []),
    ("at least the least", lambda x: tf.maximum(x, -(2**31)), []),
    ("floor division by one", lambda x: x // 1, []),
    ("power one", lambda x: tf.pow(x, 1), []),
    ("power two", lambda x: tf.pow(x, 2), ["Square"]),
    ("power three", lambda x: tf.pow(x, 3), ["Mul", "Square"]),
    ("inverted twice", lambda x: tf.bitwise.invert(tf.bitwise.invert(x)), []),
    ("not less", lambda x: tf.logical_not(tf.reshape(x, [2, 3]) < 2), ["GreaterEqual", "Reshape"]),
    ("common factor", lambda x: (lambda y: y * tf.bitwise.invert(y) + tf.abs(y) * y)(
        tf.reshape(x, [2, 3])), ["Abs", "AddV2", "Invert", "Mul", "Reshape"]),
    ("wider and back", lambda x: tf.cast(tf.cast(x, tf.int64), tf.int32), []),
    ("wider and wider", lambda x: tf.cast(tf.cast(x, tf.int64), tf.int64), ["Cast"]),
    ("size", lambda x: tf.raw_ops.Size(input=tf.reshape(x, [2, 3])), ["Reshape"]),
    ("rank", lambda x: tf.raw_ops.Rank(input=tf.reshape(x, [2, 3])), ["Reshape"]),
]  # fmt: skip


@pytest.mark.parametrize(("build", "ops"), [row[1:] for row in INT_RULES],
                         ids=[row[0] for row in INT_RULES])  # fmt: skip
def test_rules_of_integers(build: Callable[[Any], Any], ops: list[str]) -> None:
    """Integers wrap around, so that more rules hold."""
    x = tf.placeholder(tf.int32)
    assert ops_after(build(x), {x: INTS}) == ops


BOOL_RULES: list[tuple[str, Callable[[Any], Any], list[str]]] = [
    ("and true", lambda x: tf.logical_and(x, True), []),
    ("or false", lambda x: tf.logical_or(False, x), []),
    ("and false", lambda x: tf.logical_and(tf.reshape(x, [2]), False), ["Reshape"]),
    ("not not", lambda x: tf.logical_not(tf.logical_not(x)), []),
    ("and itself", lambda x: tf.logical_and(x, x), []),
    ("to a number and back", lambda x: tf.cast(tf.cast(x, tf.float32), tf.bool), []),
]


@pytest.mark.parametrize(("build", "ops"), [row[1:] for row in BOOL_RULES],
                         ids=[row[0] for row in BOOL_RULES])  # fmt: skip
def test_rules_of_booleans(build: Callable[[Any], Any], ops: list[str]) -> None:
    """Rules of booleans hold for true and false."""
    x = tf.placeholder(tf.bool)
    assert ops_after(build(x), {x: np.array([True, False])}) == ops


def test_complex_numbers_are_not_multiplied_by_one_for_nothing() -> None:
    """(inf + i) * 1 contains inf * 0; the conjugate of a conjugate is the number itself."""
    x = tf.placeholder(tf.complex64)
    value = np.array([1 + 2j, complex("inf+1j")], np.complex64)
    assert ops_after(tf.exp(x) * 1.0, {x: value}) == ["Exp", "Mul"]
    assert ops_after(tf.math.conj(tf.math.conj(tf.exp(x))), {x: value}) == ["Exp"]
    turned = tf.math.conj(tf.transpose(tf.reshape(tf.exp(x), [1, 2])))
    assert ops_after(turned, {x: value}) == ["ConjugateTranspose", "Exp", "Reshape"]


def test_a_variable_s_reference_is_not_passed_on() -> None:
    """The Identity that reads a reference stays."""
    v = tf.Variable([1.0], use_resource=False)
    y = tf.identity(v) * 2.0
    with tf.Session(config=config()) as session:
        session.run(v.initializer)
        ops = session.runtime.prepare((), (y.name,), ()).executors.items[0].graph.op_nodes()
        assert "Identity" in [node.op for node in ops]
        assert session.run(y).tolist() == [2.0]


def test_targets_stay_under_their_names() -> None:
    """A target is not removed."""
    x = tf.placeholder(tf.float32)
    y = tf.identity(tf.exp(x), name="y")
    z = tf.multiply(tf.exp(x), 1.0, name="z")
    with tf.Session(config=config()) as session:
        session.optimization_reports([y.op, z.op], [x])
        prepared = session.runtime.prepare((x.name,), (), (y.op.name, z.op.name))
        names = {node.name for node in prepared.executors.items[0].graph.op_nodes()}
        assert {"y", "z"} <= names


def test_what_a_removed_node_waited_for_is_still_waited_for() -> None:
    """The assignment runs first, although nodes between were removed."""
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.control_dependencies([v.assign(5.0)]):
        gate = tf.no_op()
    with tf.control_dependencies([gate]):
        read = v.read_value() * 1.0
    with tf.Session(config=config()) as session:
        session.run(v.initializer)
        assert session.run(read) == 5.0


def test_an_error_before_a_known_shape_is_still_raised() -> None:
    """A reshape of known shape still fails if its input does."""
    x = tf.placeholder(tf.float32)
    shape = tf.raw_ops.Shape(input=tf.reshape(x, [2, 3]))
    with (
        tf.Session(config=config()) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="Input to reshape"),
    ):
        session.run(shape, {x: np.zeros(5, np.float32)})
