"""The graph before and after each pass."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import tfnb as tf
from tfnb.framework.function import Defun


def stages_of(fetch: Any, feeds: list[Any], **options: Any) -> list[Any]:
    """What the passes did for a fetch."""
    with tf.Session(graph=fetch.graph, **options) as session:
        return session.optimization_stages(fetch, feeds)


def test_each_stage_begins_where_the_one_before_ended() -> None:
    """What is pruned, joined and folded is seen going, pass by pass."""
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
    """A session that was asked gives the same as one that was not, and keeps no new signature."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.add(x * 1.0, tf.constant(1.0) + tf.constant(2.0), name="y")
    with tf.Session(graph=graph) as session:
        first = session.run(y, {x: 1.0})
        signatures = len(session._session.step_events.signatures())
        assert session.optimization_stages(y, [x]) == session.optimization_stages(y, [x])
        assert len(session._session.step_events.signatures()) == signatures
        assert session.run(y, {x: 1.0}) == first


def test_an_inlined_call_is_a_stage_of_its_own() -> None:
    """Before there is the call, after there is its body."""
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
    """The passes of partitions come with the device."""
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
    """As in run."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        tf.constant(1.0)
        with pytest.raises((ValueError, KeyError)):
            session.optimization_stages("nothing:0")
