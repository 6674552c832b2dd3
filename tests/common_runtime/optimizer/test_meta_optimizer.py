"""Which optimizers run, and the effects of those that rewrite the whole graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.common_runtime.optimizer.rewriter_switches import CONFIGS, build, facts
from tests.common_runtime.optimizer.rewriter_switches import config as switches
from tfnb.common_runtime.optimizer import rewriter_config
from tfnb.common_runtime.optimizer.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ON, OFF = 1, 2


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def config(level: int = 0, **toggles: Any) -> tf.ConfigProto:
    """A configuration with these toggles, for graphs of any size."""
    found = tf.ConfigProto()
    found.graph_options.optimizer_options.opt_level = level
    rewrite = found.graph_options.rewrite_options
    rewrite.min_graph_nodes = -1
    for name, value in toggles.items():
        if name == "optimizers":
            rewrite.optimizers.extend(value)
        else:
            setattr(rewrite, name, value)
    return found


def did(fetches: Any, feeds: Any = (), options: Any = None) -> set[str]:
    """The names of the optimizers that changed something."""
    with tf.Session(config=options or config()) as session:
        reports = session.optimization_reports(fetches, feeds)
        actions = [line for r in reports if r.name == "meta_optimizer" for line in r.actions]
        return {line.split(":")[0] for line in actions}


def busy() -> tuple[Any, Any]:
    """Return a graph with work for every optimizer, its fetches and feeds."""
    p = tf.placeholder(tf.float32, name="p")
    x = tf.exp(p)
    with tf.control_dependencies([x]):
        gate = tf.no_op()
    with tf.control_dependencies([gate, x]):
        folded = tf.constant(2.0) * tf.constant(3.0)
    same = tf.sin(x) + tf.sin(x)
    shape = tf.raw_ops.Shape(input=tf.matmul(tf.reshape(x, [2, 2]), tf.ones([2, 2])))
    return [tf.negative(-x) + folded, same, shape, tf.identity(x)], [p]


@pytest.mark.parametrize(
    ("toggle", "optimizer"),
    [
        ("constant_folding", "constfold"),
        ("shape_optimization", "shape"),
        ("arithmetic_optimization", "arithmetic"),
        ("dependency_optimization", "dependency"),
        ("common_subgraph_elimination", "common_subgraph_elimination"),
    ],
)
def test_each_optimizer_has_its_switch(toggle: str, optimizer: str) -> None:
    """An optimizer is on by default, on at level L0 if requested, and off if switched off."""
    fetches, feeds = busy()
    assert optimizer in did(fetches, feeds)
    assert optimizer not in did(fetches, feeds, config(**{toggle: OFF}))
    only = {"arithmetic_optimization": ON} if optimizer.startswith("common") else {}
    assert optimizer in did(fetches, feeds, config(-1, **{toggle: ON, **only}))


def test_level_zero_and_the_main_switch_turn_everything_off() -> None:
    """Level L0 turns off optimizers that were not requested, the main switch all."""
    fetches, feeds = busy()
    assert did(fetches, feeds, config(-1)) == set()
    assert did(fetches, feeds, config(disable_meta_optimizer=True, constant_folding=ON)) == set()


def test_named_optimizers_run_alone_and_in_order() -> None:
    """Unknown names are ignored."""
    fetches, feeds = busy()
    options = config(optimizers=["constfold", "autoparallel", "nobody"])
    assert did(fetches, feeds, options) <= {"constfold", "pruning"}
    assert rewriter_config.optimizers(options) == ("constfold",)
    assert rewriter_config.optimizers(config(optimizers=["loop", "pruning"])) == ("loop", "pruning")


def test_small_graphs_are_left_alone() -> None:
    """Graphs of fewer than four nodes are not optimized, unless the configuration says so."""
    p = tf.placeholder(tf.float32)
    y = tf.identity(p)
    small = config()
    small.graph_options.rewrite_options.min_graph_nodes = 0
    assert did(y, [p], small) == set()
    assert did(y, [p]) == {"pruning"}
    small.graph_options.rewrite_options.min_graph_nodes = 2
    assert did(y, [p], small) == {"pruning"}


def test_the_number_of_iterations_is_the_configuration_s() -> None:
    """The number is one or two; the default is two."""
    assert rewriter_config.iterations(config()) == 2
    assert rewriter_config.iterations(config(meta_optimizer_iterations=1)) == 1


def test_reports_are_plain_text() -> None:
    """Each pass has a line, and below it a line per change; no node runs."""
    p = tf.placeholder(tf.float32, name="p")
    y = tf.identity(tf.exp(p, name="e"), name="i") * tf.constant(1.0, name="one")
    tf.no_op("alone")
    with tf.Session(config=config()) as session:
        assert str(session.optimization_reports(y, [p])) == (
            "pruning (pre placement, 0)\n"
            "  'alone' (NoOp) is not needed\n"
            "meta_optimizer (post rewrite for exec, 1000)\n"
            "  pruning: 'i' (Identity) only passes 'e:0' on\n"
            "  constfold: 'mul' (Mul): one times 'e:0'\n"
            "  pruning: 'one' (Const) is not needed any more"
        )
        assert str(session.optimization_reports(p, [p])) == "No pass changed anything."


def test_partial_runs_are_left_alone() -> None:
    """Partial runs are not optimized, because a fetch must not need more nodes."""
    p, q = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    y = tf.identity(tf.exp(p)) * 1.0
    z = tf.reshape(q, [1]) * 0
    with tf.Session(config=config()) as session:
        handle = session.partial_run_setup([y, z], [p, q])
        assert session.partial_run(handle, y, {p: 0.0}) == 1.0
        assert session.partial_run(handle, z, {q: 3}) == [0]


def ops_of(session: Any, fetch: Any, feeds: Any = ()) -> list[str]:
    """Return the remaining ops of a run."""
    session.optimization_reports(fetch, feeds)
    names = tuple(t.name for t in feeds)
    prepared = session.runtime.prepare(names, (fetch.name,), ())
    return [n.op for n in prepared.executors.items[0].graph.op_nodes()]


@pytest.mark.parametrize("taken", [True, False])
def test_the_dead_branch_of_a_constant_goes_when_asked(taken: bool) -> None:
    """By default the dead branch stays visible."""
    x = tf.placeholder(tf.float32)
    y = tf.cond(tf.constant(taken), lambda: tf.sin(x), lambda: tf.cos(x)) + 1.0
    with tf.Session(config=config()) as session:
        assert {"Sin", "Cos", "Switch", "Merge"} <= set(ops_of(session, y, [x]))
    with tf.Session(config=config(loop_optimization=ON)) as session:
        ops = ops_of(session, y, [x])
        assert {"Switch", "Merge"}.isdisjoint(ops)
        assert ("Sin" in ops, "Cos" in ops) == (taken, not taken)
        assert session.run(y, {x: 0.0}) == (1.0 if taken else 2.0)


def test_a_dead_branch_that_can_be_noticed_stays() -> None:
    """Fetching the dead branch is an error, with the optimizer too."""
    switch = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True))
    dead = tf.exp(switch.output_false)
    with (
        tf.Session(config=config(loop_optimization=ON)) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="is dead"),
    ):
        session.run(dead)


def test_the_index_of_a_decided_merge_is_known() -> None:
    """The index becomes a constant that waits for the branch."""
    x = tf.placeholder(tf.float32)
    switch = tf.raw_ops.Switch(data=x, pred=tf.constant(True))
    merge = tf.raw_ops.Merge(inputs=[tf.exp(switch.output_false), tf.sin(switch.output_true)])
    with tf.Session(config=config(loop_optimization=ON)) as session:
        assert session.run([merge.output, merge.value_index], {x: 0.0}) == [0.0, 1]
        assert "Merge" not in ops_of(session, merge.value_index, [x])


def test_constants_are_folded_inside_loops() -> None:
    """Folded constants stay in their iteration."""

    def body(i: Any) -> Any:
        return i + tf.constant(2) * tf.constant(3)

    y = tf.while_loop(lambda i: i < 10, body, [0])
    with tf.Session(config=config()) as session:
        assert session.run(y) == 12
        assert "Mul" not in ops_of(session, y)


def test_a_node_of_several_outputs_becomes_several_constants() -> None:
    """The used outputs become constants that wait for the node's control inputs."""
    p = tf.placeholder(tf.float32)
    x = tf.reshape(tf.exp(p), [2, 3])
    shape = tf.raw_ops.Shape(input=x)
    axes = tf.raw_ops.BroadcastGradientArgs(s0=shape, s1=tf.constant([3]))
    y = tf.reduce_sum(x, axis=axes.r1)
    with tf.Session(config=config()) as session:
        ops = ops_of(session, y, [p])
        assert {"BroadcastGradientArgs", "Shape"}.isdisjoint(ops)
        assert session.run([y, axes.r0], {p: np.zeros(6)})[0].tolist() == [2.0, 2.0, 2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Input to reshape"):
            session.run(axes.r0, {p: np.zeros(5)})


def test_debug_ops_are_stripped_only_on_request() -> None:
    """Without debug ops nothing is checked any more."""
    x = tf.placeholder(tf.float32)
    y = tf.raw_ops.CheckNumerics(tensor=x, message="bad")
    with tf.control_dependencies([tf.Assert(x < 0.0, [x])]):
        z = tf.identity(y)
    with tf.Session(config=config()) as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(z, {x: np.float32("inf")})
    with tf.Session(config=config(debug_stripper=ON)) as session:
        assert session.run(z, {x: np.float32("inf")}) == np.inf


def test_control_edges_that_order_nothing_go() -> None:
    """Edges implied by longer paths and NoOps in between are removed; a target NoOp stays."""
    p = tf.placeholder(tf.float32)
    a = tf.exp(p, name="a")
    b = tf.sin(a, name="b")
    with tf.control_dependencies([a]):
        gate = tf.no_op("gate")
    with tf.control_dependencies([a, b, gate]):
        c = tf.cos(p, name="c")
    with tf.Session(config=config()) as session:
        assert "NoOp" not in ops_of(session, c, [p])
        (item,) = session.runtime.prepare((p.name,), (c.name,), ()).executors.items
        node = item.graph.find_node("c")
        assert [n.name for n in node.control_inputs()] == ["b"]
        assert session.run([gate, c], {p: 0.0}) == [None, 1.0]


@pytest.mark.parametrize("kind", ["matmul", "conv2d", "batch"])
def test_unused_gradients_are_not_computed(kind: str) -> None:
    """Of the two gradients of a product only the requested one is computed, with the same bits."""
    rng = np.random.default_rng(0)
    if kind == "conv2d":
        value, start = rng.random((2, 6, 6, 3)), rng.random((3, 3, 3, 4))
    elif kind == "batch":
        value, start = rng.random((2, 6, 5)), rng.random((2, 5, 4))
    else:
        value, start = rng.random((6, 5)), rng.random((5, 4))
    x = tf.placeholder(tf.float32, value.shape)
    w = tf.Variable(start.astype("f4"))
    y = tf.nn.conv2d(x, w, 1, "SAME") if kind == "conv2d" else tf.matmul(x, w)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    ((gradient, _),) = optimizer.compute_gradients(tf.reduce_sum(tf.sigmoid(y)), [w])
    backwards = {"conv2d": "Conv2DBackpropInput", "batch": "BatchMatMulV2", "matmul": "MatMul"}
    answers, counts = [], []
    for options in (config(), config(-1)):
        with tf.Session(config=options) as session:
            session.run(tf.global_variables_initializer())
            answers.append(session.run(gradient, {x: value}))
            counts.append(ops_of(session, gradient, [x]).count(backwards[kind]))
    assert counts[1] - counts[0] == 1
    np.testing.assert_array_equal(*answers)


def test_what_only_an_unused_gradient_needs_is_not_computed() -> None:
    """The gradient of a quotient's divisor: its products, sum and reshape go, and the bits stay."""
    y = tf.placeholder(tf.float32, [None, 2])
    w = tf.Variable([[1.0, 2.0]])
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    ((gradient, _),) = optimizer.compute_gradients(tf.reduce_sum(w / y), [w])
    answers, ops = [], []
    for options in (config(), config(-1)):
        with tf.Session(config=options) as session:
            session.run(tf.global_variables_initializer())
            answers.append(session.run(gradient, {y: np.full((3, 2), 3.0)}))
            ops.append(ops_of(session, gradient, [y]))
    assert "Neg" in ops[1]
    assert "Neg" not in ops[0]
    assert ops[0].count("RealDiv") < ops[1].count("RealDiv")
    np.testing.assert_array_equal(*answers)


def test_a_product_that_is_no_gradient_is_computed_to_be_waited_for() -> None:
    """Its error is not hidden."""
    x = tf.placeholder(tf.float32)
    with tf.control_dependencies([tf.matmul(x, x)]):
        y = tf.sin(x) + 1.0
    with (
        tf.Session(config=config()) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="Matrix size"),
    ):
        session.run(y, {x: np.ones((2, 3))})


SWITCHES: dict[str, dict[str, bool]] = json.loads(
    (Path(__file__).parents[2] / "golden/rewriter_switches.json").read_text()
)


@pytest.mark.parametrize("name", CONFIGS)
def test_switches_are_read_as_tensorflow_reads_them(name: str) -> None:
    """The same optimizers change a graph in the same way under every configuration."""
    left: dict[str, str] = {}

    class Looks:
        """Records the graph after the optimizers, before the partition's own passes."""

        name = "looks"

        def run(self, options: OptimizationPassOptions) -> list[str]:
            """Record."""
            assert options.graph is not None
            left.update((each.name, each.op) for each in options.graph.op_nodes())
            return []

    looks = Looks()
    REGISTRY.register(Grouping.POST_PARTITIONING, 0, looks)
    try:
        fed, fetched = build(tf)
        with tf.Session(config=switches(tf, CONFIGS[name])) as session:
            session.optimization_reports(fetched, [fed])
    finally:
        REGISTRY.deregister(Grouping.POST_PARTITIONING, looks)
    assert facts(left) == SWITCHES[name]
