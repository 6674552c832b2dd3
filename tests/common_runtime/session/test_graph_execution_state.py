"""Placements are kept, and their reasons can be read."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tests.common_runtime.graph_defs import const, node, placeholder, session
from tfnb.common_runtime.optimizer.optimization_registry import REGISTRY, Grouping
from tfnb.core import dtypes, errors
from tfnb.proto import config_pb2

F = dtypes.float32
PREFIX = "/job:localhost/replica:0/task:0/device:CPU:"


def pruned() -> config_pb2.ConfigProto:
    """Two CPU devices and pruned placement."""
    config = config_pb2.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    config.graph_options.place_pruned_graph = True
    return config


class MovesVariables:
    """A pass that puts variables on the second device."""

    name = "moves_variables"

    def run(self, options):
        """Move the variables."""
        if options.graph is not None:
            for each in options.graph.op_nodes():
                if each.op == "VarHandleOp" and each.name == "moving":
                    each.assigned_device = f"{PREFIX}1"
        return []


def handle(name):
    """Return the handle of a variable."""
    return node(name, "VarHandleOp", dtype=F, shape=tf.TensorShape([]), shared_name=name.encode())


def test_a_stateful_node_that_moves_is_an_internal_error():
    """The first placement is kept; the run is refused, and the session stays usable."""
    native = session(
        handle("moving"),
        const("one", 1.0),
        node("set", "AssignVariableOp", "moving", "one", dtype=F),
        node("read", "ReadVariableOp", "moving", dtype=F),
        config=pruned(),
    )
    native.run({}, [], ["set"])
    moves = MovesVariables()
    REGISTRY.register(Grouping.POST_PLACEMENT, 0, moves)
    try:
        with pytest.raises(
            errors.InternalError,
            match=f"Stateful placement mismatch. Current assignment of moving to {PREFIX}1 "
            f"does not match {PREFIX}0",
        ):
            native.run({}, ["read:0"], [])
    finally:
        REGISTRY.deregister(Grouping.POST_PLACEMENT, moves)
    assert native.run({}, ["read:0"], []) == [1.0]


def test_pruned_placement_keeps_stateful_nodes_where_they_are():
    """Later nodes would prefer the variable on another device, and do not move it."""
    native = session(
        handle("v"),
        const("one", 1.0),
        node("set", "AssignVariableOp", "v", "one", dtype=F),
        node("read", "ReadVariableOp", "v", device="/cpu:1", dtype=F),
        config=pruned(),
    )
    native.run({}, [], ["set"])
    assert native.run({}, ["read:0"], []) == [1.0]
    placed = native.prepare((), ("read:0",), ()).executors.placed
    views = {view.node: view for view in placed.placements}
    assert views["v"].chosen == views["read"].chosen == f"{PREFIX}0"
    assert views["v"].why == "was placed before"
    assert "which yields" in views["read"].why


def test_the_reason_of_control_flow_names_its_neighbour():
    """Pruning moves a Switch to its data and an Exit to its loop, regardless of requests."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, name="x")
        with tf.device("/cpu:1"):
            y = tf.exp(x, name="y")
        with tf.device("/cpu:0"):
            switch = tf.raw_ops.Switch(data=y, pred=tf.constant(True), name="s")
            z = tf.exp(switch.output_true, name="z")
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            assert sess.run(z, {x: 0.0}) == np.exp(np.float32(1))
            executors = sess.runtime.prepare(("x:0",), ("z:0",), ()).executors
    views = {view.node: view for view in executors.placed.placements}
    assert views["s"].chosen == f"{PREFIX}1"
    assert views["s"].why == (
        f"is control flow and stands beside its input 'y' (was on '{PREFIX}0', as it was asked to "
        "be on '/device:CPU:0')"
    )
    assert views["_arg_x_0_0"].why == "brings a fed value in"


def test_nodes_that_placement_never_saw_have_a_reason():
    """Nodes of a loop across devices, and those that a pass removes, have a reason."""
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            start = tf.placeholder(tf.float32, [], name="start")

        def body(i, x):
            with tf.device("/cpu:1"):
                return i + 1, tf.exp(x, name="inside") * 1.0

        with tf.device("/cpu:0"):
            _, end = tf.while_loop(lambda i, x: i < 3, body, [0, start])
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            sess.run(end, {start: 0.0})
            executors = sess.runtime.prepare(("start:0",), (end.name,), ()).executors
    views = {view.node: view for view in executors.placed.placements}
    shadows = {name: view for name, view in views.items() if name.startswith("_cloop")}
    assert len(shadows) >= 4
    assert {view.why for view in shadows.values()} == {"keeps a loop across devices in step here"}
    assert all(view.why for view in views.values())


def test_an_unknown_device_filter_is_refused():
    """The filters name devices of other processes and have no effect in one process."""
    config = config_pb2.ConfigProto(device_filters=["/job:ps", "/device:CPU:7"])
    native = session(placeholder("p"), const("c", 1.0), config=config)
    assert native.run({}, ["c:0"], []) == [1.0]
    config.device_filters.append("nonsense:::")
    with pytest.raises(errors.InvalidArgumentError, match="Invalid device filter: nonsense:::"):
        session(config=config)
