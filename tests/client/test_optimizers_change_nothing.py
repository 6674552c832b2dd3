"""Random graphs give the same bits or the same error with all optimizers on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable

FLOATS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.1, 1e30, -3e38, float("inf"), float("-inf"), float("nan")]
INTS = [0, 1, -1, 2, 3, 7, -(2**31), 2**31 - 1]
SHAPES: list[tuple[int, ...]] = [(), (1,), (3,), (2, 3), (1, 3), (2, 1)]


def everything_on() -> tf.ConfigProto:
    """All optimizers, on graphs of any size, over two devices."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    rewrite = config.graph_options.rewrite_options
    rewrite.loop_optimization = rewrite.ON
    rewrite.min_graph_nodes = -1
    return config


def everything_off() -> tf.ConfigProto:
    """No pass at all."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def bits(value: Any) -> Any:
    """Return dtype, shape and bytes of a value; all NaNs are equal."""
    array = np.asarray(value)
    if array.dtype.kind == "c":
        return bits(array.real), bits(array.imag)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type("nan"), array)
    return array.dtype.str, array.shape, array.tobytes()


def answer(case: Any, config: Any) -> Any:
    """Return the results of two runs: bits, or the class of their error."""
    fetches, targets, feeds, variables = case
    with tf.Session(config=config) as session:
        session.run([one.initializer for one in variables])
        answers = []
        for _ in range(2):
            try:
                found = session.run([fetches, targets], feeds)[0]
                answers.append([bits(value) for value in found])
            except tf.errors.OpError as error:
                answers.append(type(error))
        return answers, [bits(session.run(one)) for one in variables]


class Drawer:
    """Makes a random graph from a pool of tensors."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.feeds: dict[Any, Any] = {}
        self.pool: list[Any] = []
        self.variables: list[Any] = []
        self.last_write: Any = None

    def some(self, strategy: Any) -> Any:
        """Return a random choice."""
        return self.draw(strategy)

    def pick(self, kind: str) -> Any:
        """A tensor of the pool: ``float``, ``int`` or ``bool``; a new constant if there is none."""
        dtypes = {
            "float": (tf.float32, tf.float64),
            "int": (tf.int32, tf.int64),
            "bool": (tf.bool,),
        }
        found = [one for one in self.pool if one.dtype in dtypes[kind]]
        if not found or self.some(st.integers(0, 4)) == 0:
            return self.constant(kind)
        return self.some(st.sampled_from(found))

    def constant(self, kind: str) -> Any:
        """Add a constant, mostly of equal elements that a rule simplifies."""
        shape = self.some(st.sampled_from(SHAPES))
        if kind == "bool":
            return tf.constant(self.some(st.booleans()), tf.bool, shape)
        dtype = tf.float32 if kind == "float" else tf.int32
        numbers = FLOATS if kind == "float" else INTS
        return tf.constant(self.some(st.sampled_from(numbers)), dtype, shape)

    def placeholder(self, kind: str) -> None:
        """Add a fed tensor, possibly with gaps in memory."""
        shape = self.some(st.sampled_from(SHAPES))
        dtype, numbers = (np.float32, FLOATS) if kind == "float" else (np.int32, INTS)
        size = int(np.prod(shape)) * 2
        drawn = self.some(st.lists(st.sampled_from(numbers), min_size=size, max_size=size))
        value = np.array(drawn, dtype).reshape((*shape, 2))[..., 0]
        tensor = tf.placeholder(dtype, shape if self.some(st.booleans()) else None)
        self.feeds[tensor] = value
        self.pool.append(tensor)

    def operand_like(self, x: Any) -> Any:
        """Another tensor of the type of ``x``."""
        y = self.pick("float" if x.dtype.is_floating else "int")
        return y if y.dtype == x.dtype else tf.cast(y, x.dtype)

    def add(self) -> None:
        """One more op."""
        makers = [
            self.arithmetic, self.arithmetic, self.unary, self.logic, self.cast, self.layout,
            self.passing, self.metadata, self.reduction, self.ordered, self.cond, self.loop,
            self.state, self.state,
        ]  # fmt: skip
        device = self.some(st.sampled_from([None, None, "/cpu:0", "/cpu:1"]))
        try:
            with tf.device(device):
                made = self.some(st.sampled_from(makers))()
        except (ValueError, TypeError):
            return  # shapes that cannot fit are refused while building
        self.pool.append(made)

    def arithmetic(self) -> Any:
        """X op y."""
        x = self.pick(self.some(st.sampled_from(["float", "int"])))
        y = x if self.some(st.integers(0, 5)) == 0 else self.operand_like(x)
        ops = [tf.add, tf.subtract, tf.multiply, tf.raw_ops.Mul, tf.maximum, tf.minimum]
        if x.dtype.is_floating:
            ops += [tf.divide, tf.squared_difference]
        else:
            ops += [tf.floordiv, tf.bitwise.bitwise_and, tf.bitwise.bitwise_or]
            ops += [tf.bitwise.bitwise_xor, tf.truncatediv]
        op = self.some(st.sampled_from(ops))
        if op is tf.raw_ops.Mul:
            z = self.operand_like(x)
            return x * y + x * z
        if self.some(st.booleans()):
            x, y = y, x
        return op(x, y)

    def unary(self) -> Any:
        """Add one or two functions of x."""
        x = self.pick(self.some(st.sampled_from(["float", "int"])))
        ops = [tf.negative, tf.abs, tf.square, tf.sign, tf.nn.relu]
        ops += [tf.floor, tf.round, tf.exp] if x.dtype.is_floating else [tf.bitwise.invert]
        for _ in range(self.some(st.integers(1, 2))):
            x = self.some(st.sampled_from(ops))(x)
        return x

    def logic(self) -> Any:
        """Add comparisons and functions of their results."""
        choice = self.some(st.integers(0, 3))
        if choice == 0:
            x = self.pick(self.some(st.sampled_from(["float", "int"])))
            op = self.some(st.sampled_from([tf.less, tf.greater_equal, tf.equal, tf.not_equal]))
            return op(x, self.operand_like(x))
        if choice == 1:
            return tf.logical_not(self.pick("bool"))
        op = self.some(st.sampled_from([tf.logical_and, tf.logical_or]))
        return op(self.pick("bool"), self.pick("bool"))

    def cast(self) -> Any:
        """Add a cast, possibly back again."""
        x = self.pick(self.some(st.sampled_from(["float", "int", "bool"])))
        if x.dtype == tf.bool:
            return tf.cast(x, self.some(st.sampled_from([tf.int32, tf.float32])))
        if x.dtype.is_floating:
            wide = tf.cast(x, tf.float64)
            return tf.cast(wide, tf.float32) if self.some(st.booleans()) else wide
        wide = tf.cast(x, tf.int64)
        return tf.cast(wide, tf.int32) if self.some(st.booleans()) else wide

    def layout(self) -> Any:
        """Reshapes, transposes, slices, tiles."""
        x = self.pick(self.some(st.sampled_from(["float", "int"])))
        choice = self.some(st.integers(0, 9))
        if choice == 0:
            return tf.reshape(tf.reshape(x, [-1]), [-1, 1])
        if choice == 1:
            return tf.transpose(tf.transpose(x, [1, 0]), self.some(st.permutations([0, 1])))
        if choice == 2:
            return tf.reshape(x, tf.shape(x))
        if choice == 3:
            return tf.squeeze(tf.expand_dims(x, 0), [0])
        if choice == 4:
            return tf.tile(x, [1] * len(x.shape))
        if choice == 5:
            return tf.reverse(tf.reverse(x, [0]), [0])
        if choice == 6:
            return tf.slice(x, [0] * len(x.shape), [-1] * len(x.shape))
        if choice == 7:
            return tf.transpose(x, [1, 0])
        if choice == 8:
            return tf.pad(x, [[0, self.some(st.integers(0, 1))]] * len(x.shape))
        return x[:1] if self.some(st.booleans()) else x[..., ::2]

    def passing(self) -> Any:
        """Add ops that pass their input on."""
        x = self.pick(self.some(st.sampled_from(["float", "int", "bool"])))
        ops = [tf.identity, tf.stop_gradient]
        if x.dtype != tf.bool:
            ops.append(lambda one: tf.raw_ops.AddN(inputs=[one]))
        return self.some(st.sampled_from(ops))(x)

    def metadata(self) -> Any:
        """Shape, size, rank."""
        x = self.pick(self.some(st.sampled_from(["float", "int"])))
        return self.some(st.sampled_from([tf.shape, tf.size, tf.rank]))(x)

    def reduction(self) -> Any:
        """Add a sum, the only op whose result depends on the layout in memory."""
        x = self.pick(self.some(st.sampled_from(["float", "float", "int"])))
        op = self.some(st.sampled_from([tf.reduce_sum, tf.reduce_max]))
        return op(x, axis=self.some(st.sampled_from([None, [], 0])))

    def ordered(self) -> Any:
        """Add an op behind others, with NoOps and groups between."""
        waits = [self.some(st.sampled_from(self.pool)) for _ in range(2)]
        with tf.control_dependencies(waits):
            group = tf.no_op()
        with tf.control_dependencies([group, waits[0]]):
            x = self.pick("float")
            return self.some(st.sampled_from([tf.identity, lambda y: y * 1.0]))(x)

    def state(self) -> Any:
        """Write a variable after all earlier writes, and read it."""
        if not self.variables:
            self.variables = [
                tf.Variable(1.0, use_resource=True, dtype=tf.float32),
                tf.Variable(1.0, use_resource=False, dtype=tf.float32),
            ]
        v = self.some(st.sampled_from(self.variables))
        x = self.pick("float")
        amount = tf.reduce_max(tf.cast(x, tf.float32)) * self.some(st.sampled_from([0.0, 1.0]))
        with tf.control_dependencies([] if self.last_write is None else [self.last_write]):
            write = v.assign_add(amount)
        with tf.control_dependencies([write]):
            read = tf.identity(v)
        with tf.control_dependencies([read]):
            self.last_write = tf.no_op()
        return read

    def cond(self) -> Any:
        """Add a conditional, possibly on a constant."""
        pred = self.pick("bool")
        x = self.pick("float")
        if pred.shape.rank != 0:
            pred = tf.reduce_all(pred)
        return tf.cond(pred, lambda: x * 1.0 + 2.0, lambda: tf.negative(-x) - 0.0)

    def loop(self) -> Any:
        """A loop with constants in its body."""
        x = self.pick("int")
        one = tf.constant(1)

        def body(i: Any, y: Any) -> Any:
            z = tf.identity(y) * tf.ones([], y.dtype)
            return i + one, z * 2 - tf.constant(0, y.dtype) + tf.constant(3, y.dtype) * 0

        return tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]


@st.composite
def graphs(draw: Callable[[Any], Any]) -> tuple[Any, tf.Graph]:
    """Return a graph with its fetches, targets, feeds and variables."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        drawer = Drawer(draw)
        for kind in ("float", "int", "float"):
            drawer.placeholder(kind)
        for _ in range(draw(st.integers(2, 14))):
            drawer.add()
        made = drawer.pool[3:] or drawer.pool
        fetches = draw(st.lists(st.sampled_from(made), min_size=1, max_size=5))
        fetches.append(made[-1])
        targets = draw(st.lists(st.sampled_from([one.op for one in made]), max_size=2))
    return (fetches, targets, drawer.feeds, drawer.variables), graph


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(graphs())
def test_random_graphs_answer_alike(made: Any) -> None:
    """Values to the bit, errors by class."""
    check_alike(*made)


@pytest.mark.slow
@pytest.mark.repeats
@settings(max_examples=60, deadline=None)
@given(graphs())
def test_many_random_graphs_answer_alike(made: Any) -> None:
    """More graphs are compared in the same way."""
    check_alike(*made)


def check_alike(case: Any, graph: tf.Graph) -> None:
    """Check the answers of a graph with and without optimizers, and on two devices."""
    with graph.as_default():
        expected = answer(case, everything_off())
        assert answer(case, everything_on()) == expected
        assert answer(case, tf.ConfigProto(device_count={"CPU": 2})) == expected
