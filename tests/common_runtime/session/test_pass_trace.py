"""The graph before and after each pass."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import tfnb as tf
from tfnb.core.attr_value import NameAttrList
from tfnb.framework.functions.function import Defun
from tfnb.ops.control import functional_ops


def stages_of(fetch: Any, feeds: list[Any], **options: Any) -> list[Any]:
    """Return the stages of the passes for a fetch."""
    with tf.Session(graph=fetch.graph, **options) as session:
        return session.optimization_stages(fetch, feeds)


def test_each_stage_begins_where_the_one_before_ended() -> None:
    """Pruning, joining and folding are visible pass by pass."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        scale = tf.multiply(tf.constant(2.0), tf.constant(3.0), name="scale")
        tf.exp(x, name="nobody_asks")
        twice = [tf.square(x, name="a"), tf.square(x, name="b")]
        y = tf.add(twice[0] * scale, twice[1], name="y")
    stages = stages_of(y, [x])

    names = [stage.report.name for stage in stages]
    assert names[0] == "pruning"
    assert {"common_subgraph_elimination", "constfold"} <= set(names)
    for one, following in itertools.pairwise(stages):
        if one.device == following.device:
            assert following.before == one.after
    gone = {node.name for node in stages[0].before} - {node.name for node in stages[0].after}
    assert "nobody_asks" in gone
    folded = stages[names.index("constfold")]
    after = {node.name: node for node in folded.after}
    assert after["scale"].op == "Const"
    assert {node.name: node.op for node in folded.before}["scale"] == "Mul"
    joined = stages[names.index("common_subgraph_elimination")]
    assert len(joined.before) == len(joined.after) + 1


def test_nothing_is_prepared_run_or_changed() -> None:
    """Tracing changes no result, and keeps no new signature."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.add(x * 1.0, tf.constant(1.0) + tf.constant(2.0), name="y")
    with tf.Session(graph=graph) as session:
        first = session.run(y, {x: 1.0})
        signatures = len(session.runtime.step_events.signatures())
        assert session.optimization_stages(y, [x]) == session.optimization_stages(y, [x])
        assert len(session.runtime.step_events.signatures()) == signatures
        assert session.run(y, {x: 1.0}) == first


def test_an_inlined_call_is_a_stage_of_its_own() -> None:
    """The stage before has the call, the stage after its body."""
    with tf.Graph().as_default():

        @Defun(tf.float32)
        def double(v: Any) -> Any:
            return v * 2.0

        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.identity(double(x), name="y")
    stages = stages_of(y, [x])

    inlined = [stage for stage in stages if any("inlined" in a for a in stage.report.actions)]
    assert len(inlined) == 1
    made = {node.name for node in inlined[0].after} - {node.name for node in inlined[0].before}
    assert made


def test_what_partitions_lose_is_told_with_their_device() -> None:
    """Stages of partitions name the device."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/cpu:1"):
            y = tf.add(x, tf.constant([1.0, 2.0]) * tf.constant([3.0, 4.0]), name="y")
    options = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L1)
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.optimizer_options.CopyFrom(options)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    stages = stages_of(y, [x], config=config)

    assert [stage.device[-5:] for stage in stages if stage.device] == ["CPU:1"]


def test_a_fetch_that_is_not_there_is_refused() -> None:
    """The error is that of run."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        tf.constant(1.0)
        with pytest.raises((ValueError, KeyError)):
            session.optimization_stages("nothing:0")


def loop_of_functions() -> Any:
    """A While that is not lowered; its body calls a function and computes constants."""

    @Defun(tf.float32, func_name="Inner")
    def inner(x: Any) -> Any:
        return tf.identity(x * (tf.constant(2.0) + tf.constant(3.0)))

    @Defun(tf.int32, tf.float32, func_name="Goes")
    def goes(i: Any, x: Any) -> Any:
        return i < tf.constant(2) + tf.constant(1)

    @Defun(tf.int32, tf.float32, func_name="Next")
    def following(i: Any, x: Any) -> Any:
        call = functional_ops.partitioned_call(
            [x], Tout=[tf.float32], f=NameAttrList("Inner", {}), config_proto=plain_calls()
        )
        return i + (tf.constant(2) - tf.constant(1)), call

    for one in (inner, goes, following):
        one.add_to_graph(tf.get_default_graph())
    return functional_ops.while_(
        [tf.constant(0), tf.placeholder(tf.float32, [], name="x")],
        cond=NameAttrList("Goes", {}),
        body=NameAttrList("Next", {}),
    )[1]


def plain_calls() -> bytes:
    """Return a configuration that keeps calls and simplifies their bodies."""
    config = tf.ConfigProto()
    rewriter = config.graph_options.rewrite_options
    rewriter.function_optimization = rewriter.OFF
    rewriter.min_graph_nodes = -1
    return config.SerializeToString()


def test_bodies_of_functions_have_stages_too() -> None:
    """Called functions, and those they call, follow the graph's own stages."""
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Graph().as_default() as graph:
        y = loop_of_functions()
    with tf.Session(graph=graph, config=config) as session:
        before = session.run(y, {"x:0": 2.0})
        stages = session.optimization_stages(y, ["x:0"])
        instantiated = len(session.runtime.step_events.functions())
        assert session.optimization_stages(y, ["x:0"]) == stages
        assert len(session.runtime.step_events.functions()) == instantiated
        assert session.run(y, {"x:0": 2.0}) == before == 250.0
    names = [stage.function for stage in stages]
    assert names == sorted(names, key=["", "Goes", "Next", "Inner"].index)
    assert names[-1] == "Inner"
    for one, after in itertools.pairwise(stages):
        if (one.function, one.device) == (after.function, after.device):
            assert after.before == one.after
    inner = [stage for stage in stages if stage.function == "Inner"]
    goes = [stage for stage in stages if stage.function == "Goes"]
    assert goes[0].report.name == "pruning"
    gone = {node.name for node in goes[0].before} - {node.name for node in goes[0].after}
    assert gone == {"x"}
    last = inner[-1]
    assert last.report.name == "simplify_body"
    assert "Identity" in {node.op for node in last.before}
    assert "Identity" not in {node.op for node in last.after}


def test_stages_of_a_body_are_what_the_session_runs() -> None:
    """The last stage of each function has the nodes that observers see."""
    with tf.Graph().as_default() as graph:
        y = loop_of_functions()
    with tf.Session(graph=graph) as session:
        stages = session.optimization_stages(y, ["x:0"])
        session.run(y, {"x:0": 2.0})
        ran = {
            found.function: set(found.partitions[0].node_names)
            for found in session.runtime.step_events.functions()
        }
    shown = {s.function: {node.name for node in s.after} for s in stages if s.function}
    assert shown
    for name, nodes in shown.items():
        assert nodes == ran[name]


def test_a_function_that_cannot_be_made_has_no_stage() -> None:
    """The caller's error gives the reason; the other stages are shown."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.exp(x, name="unasked")

        @Defun(tf.float32, func_name="Broken")
        def broken(x: Any) -> Any:
            return functional_ops.partitioned_call(
                [x], Tout=[tf.float32], f=NameAttrList("Missing", {})
            )

        broken.add_to_graph(graph)
        call = functional_ops.symbolic_gradient(
            [x, x], Tout=[tf.float32], f=NameAttrList("Broken", {})
        )
        y = tf.identity(call, name="y")
    with tf.Session(graph=graph) as session:
        assert {stage.function for stage in session.optimization_stages(y, [x])} == {""}
