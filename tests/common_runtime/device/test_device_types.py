"""Two types of devices in one session; the second is a subclass of Device that uses NumPy.

The tests cover everything that depends on a type other than CPU: which nodes go there, what stays
in host memory, and that every result is that of the CPU alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.graph.small_graphs import vocabulary_of_tests
from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.common_runtime.device.device import Device
from tfnb.common_runtime.device.device_mgr import DeviceMgr
from tfnb.common_runtime.session.direct_session import DirectSession
from tfnb.common_runtime.session.session_factory import SessionOptions
from tfnb.core import errors, op_registry

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "/job:localhost/replica:0/task:0/device:"


class Accelerator(Device):
    """A device of type GPU whose memory is the host's."""

    device_type = "GPU"
    priority = 210


def both(config: tf.ConfigProto | None = None, num_accelerators: int = 1) -> DirectSession:
    """A session with accelerators and a CPU."""
    devices: list[Device] = [
        Accelerator(f"{PREFIX}GPU:{index}", index, np, 1 << 30) for index in range(num_accelerators)
    ]
    devices.append(CpuDevice(f"{PREFIX}CPU:0", 0))
    return DirectSession(SessionOptions("", config or tf.ConfigProto()), DeviceMgr(devices))


def places(session: DirectSession, fetches: list[str], feeds: list[str]) -> dict[str, str]:
    """Return node name -> short device, as placed."""
    placed = session.prepare(tuple(feeds), tuple(fetches), ()).executors.placed
    assert placed is not None
    return {view.node: view.chosen.removeprefix(PREFIX) for view in placed.placements}


def dense(x: Any) -> Any:
    """Build a matrix product and consumers."""
    return tf.nn.relu(tf.matmul(x, tf.constant(np.eye(3, dtype=np.float32)), name="product"))


def shapes(x: Any) -> Any:
    """Build ops whose shapes are in host memory."""
    return tf.reshape(tf.exp(x), tf.raw_ops.Shape(input=tf.transpose(x), name="shape"))


def loop(x: Any) -> Any:
    """Build a loop with its counter on the host and its body on the accelerator."""
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y + x)), [0, x])[1]


def loop_on_both(x: Any) -> Any:
    """Build a loop whose body is on both devices."""

    def body(i: Any, y: Any) -> Any:
        with tf.device("/cpu:0"):
            z = tf.sin(y, name="on_host")
        with tf.device("/gpu:0"):
            return i + 1, z * y

    return tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]


def cond(x: Any) -> Any:
    """Build two branches."""
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + 1.0, lambda: x - 1.0)


def text(x: Any) -> Any:
    """Build ops on strings, which are on the host."""
    return tf.string_to_number(tf.as_string(x)) + tf.exp(x)


@pytest.mark.parametrize("build", [dense, shapes, loop, loop_on_both, cond, text])
@pytest.mark.parametrize("level", [0, -1])
def test_answers_are_those_of_the_cpu(build: Callable[[Any], Any], level: int) -> None:
    """Results are equal with and without optimizers."""
    value = np.linspace(-1, 2, 9, dtype=np.float32).reshape(3, 3)
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = level
    config.operation_timeout_in_ms = 60_000
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x")
        name = tf.identity(build(x), name="out").name
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            expected = session.run(name, {x: value})
        session = both(config)
        session.create(graph.as_graph_def())
        (found,) = session.run({"x:0": value}, [name], [])
        assert np.array_equal(found, expected)
        session.close()


def test_feeds_and_fetches_are_the_hosts_and_free_nodes_the_best_devices() -> None:
    """Requests, strings and soft placement are tested with two types of devices."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x")
        a = tf.exp(x, name="free")
        with tf.device("/cpu:0"):
            b = tf.exp(a, name="asked")
        with tf.device("/gpu:7"):
            c = tf.exp(b, name="soft")
        d = tf.as_string(c, name="text")
        with tf.device("/gpu:1"):
            e = tf.as_string(c, name="soft_text")
        tf.string_join([d, e], name="out")
    session = both(tf.ConfigProto(allow_soft_placement=True), num_accelerators=2)
    session.create(graph.as_graph_def())
    found = places(session, ["out:0"], ["x:0"])
    assert [found[name] for name in ("free", "asked", "soft", "text", "soft_text", "out")] == [
        "GPU:0", "CPU:0", "GPU:0", "CPU:0", "CPU:0", "CPU:0",
    ]  # fmt: skip
    assert found["_arg_x_0_0"] == found["_retval_out_0_0"] == "CPU:0"
    assert [one.device_type for one in session.list_devices()] == ["GPU", "GPU", "CPU"]
    hard = both(num_accelerators=2)
    hard.create(graph.as_graph_def())
    with pytest.raises(
        errors.InvalidArgumentError, match=r"operation soft: .* was explicitly assigned to"
    ):
        hard.run({"x:0": np.float32(0)}, ["out:0"], [])


def test_a_kernel_with_a_priority_runs_where_it_would_rather_run() -> None:
    """The node runs on the preferred device with the right result."""
    with vocabulary_of_tests():
        definition = op_registry.get("TestLikesCPU")
        seen = []

        def noting(xp: Any, x: Any) -> Any:
            seen.append(xp)
            return x + 1

        kernels = dict(definition.kernels)
        definition.kernel("CPU", priority=1)(noting)
        try:
            graph_def = tf.GraphDef()
            graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
            graph_def.node.add(name="y", op="TestLikesCPU", input=["x"])
            session = both()
            session.create(graph_def)
            assert session.run({"x:0": np.float32(1)}, ["y:0"], []) == [2.0]
            assert places(session, ["y:0"], ["x:0"])["y"] == "CPU:0"
            assert seen
        finally:
            definition.kernels.update(kernels)


def test_a_variable_stays_where_it_was_made() -> None:
    """Reads and writes go to the variable's device, also with soft placement."""
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:1"):
            v = tf.get_variable("v", initializer=2.0, use_resource=True)
        with tf.device("/cpu:0"):
            w = v.assign_add(1.0)
            read = tf.identity(w, name="read")
        initializer = v.initializer.name
    session = both(tf.ConfigProto(allow_soft_placement=True), num_accelerators=2)
    session.create(graph.as_graph_def())
    session.run({}, [], [initializer])
    assert session.run({}, [read.name], []) == [3.0]
    found = places(session, [read.name], [])
    assert found["v"] == "GPU:1"
    assert found[w.op.inputs[0].op.name] == "GPU:1"


def test_partitions_meet_over_both_memories() -> None:
    """HostSend and HostRecv connect both memories, even on one device."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x")
        shape = tf.raw_ops.Shape(input=tf.exp(x), name="shape")
        with tf.device("/gpu:0"):
            wide = tf.cast(shape, tf.float32, name="wide")
        tf.exp(wide, name="out")
    session = both()
    session.create(graph.as_graph_def())
    assert session.run({"x:0": np.zeros((2, 3), np.float32)}, ["wide:0"], [])[0].tolist() == [2, 3]
    items = session.prepare(("x:0",), ("wide:0",), ()).executors.items
    ops = {node.op for item in items for node in item.graph.op_nodes()}
    assert "_HostSend" in ops
