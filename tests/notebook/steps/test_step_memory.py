"""Sizes of the tensors of a recorded step, and costs of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.notebook.steps.recorded_loop import recorded_loop
from tfnb.notebook.steps.chrome_trace import chrome_trace
from tfnb.notebook.steps.run_costs import latest_record, node_costs
from tfnb.notebook.views.record import Recording

if TYPE_CHECKING:
    from tfnb.notebook.steps.run_record import RunRecord

KIB = 1024


@pytest.fixture(scope="module")
def record() -> RunRecord:
    """Record a chain: 8 KiB, from them 4 KiB, from these a sum; one result is fetched."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [1024], name="x")
        wide = tf.concat([x, x], 0, name="wide")
        half = tf.nn.relu(wide[:1024] * 2.0, name="half")
        tf.reduce_sum(half, name="total")
    with tf.Session(graph=graph) as session, Recording() as recording:
        session.run(["total:0", "half:0"], {"x:0": np.ones(1024, np.float32)})
    assert latest_record(graph) is recording.record
    return recording.record


def by_name(record: RunRecord) -> dict[str, Any]:
    """The costs of the record's nodes."""
    return {
        node.name: cost for node, cost in zip(record.scene.nodes, node_costs(record), strict=True)
    }


def test_tensors_are_kept_with_their_makers_sizes_and_times(record: RunRecord) -> None:
    """Fed tensors do not count; fetched ones outlive the step."""
    tensors = record.tensors
    names = [record.scene.nodes[node].name for node in tensors.node]
    sizes = dict(zip(names, tensors.num_bytes.tolist(), strict=True))
    assert sizes["wide"] == 8 * KIB
    assert sizes["half"] == 4 * KIB
    assert "x" not in sizes
    ends = dict(zip(names, tensors.freed_ns.tolist(), strict=True))
    assert ends["half"] == np.inf
    assert ends["wide"] < np.inf
    forms = {name: tensors.forms[form] for name, form in zip(names, tensors.form, strict=True)}
    assert forms["wide"] == "float32 2048"
    assert (tensors.made_ns >= 0).all()
    assert (tensors.freed_ns >= tensors.made_ns).all()


def test_the_curve_is_the_sum_of_what_is_held(record: RunRecord) -> None:
    """At each moment the curve has the bytes of living tensors; the peak is the maximum."""
    tensors = record.tensors
    moments, held = tensors.curve()
    for moment, total in zip(moments.tolist(), held.tolist(), strict=True):
        later = moments[moments > moment]
        if len(later) == 0 or later[0] > moment:
            live = tensors.live_at(moment)
            if (moments == moment).sum() == 1:
                assert tensors.num_bytes[live].sum() == total
    peak_ns, peak = tensors.peak()
    assert peak == held.max() >= 12 * KIB
    largest = tensors.live_at(peak_ns)[0]
    assert record.scene.nodes[tensors.node[largest]].name == "wide"


def test_each_node_has_its_cost(record: RunRecord) -> None:
    """Costs are: runs, time, bytes, and bytes held at the peak."""
    costs = by_name(record)
    assert costs["wide"].runs == 1
    assert costs["wide"].ns > 0
    assert costs["wide"].num_bytes == costs["wide"].peak_bytes == 8 * KIB
    assert costs["wide"].live == "live"
    assert costs["_arg_x_0_0"].num_bytes == 0
    assert costs["_arg_x_0_0"].live == ""


def test_loops_and_transfers_count_together() -> None:
    """A node of a loop counts in every iteration; a Recv has bytes and waiting time."""
    record = recorded_loop(iterations=4)
    costs = by_name(record)
    body = [cost for name, cost in costs.items() if name.startswith("outer/add")]
    assert max(cost.runs for cost in body) == 4
    received = [
        cost
        for node, cost in zip(record.scene.nodes, node_costs(record), strict=True)
        if node.op == "_Recv"
    ]
    assert [cost.moved_bytes for cost in received if cost.runs] == [4, 4]
    assert any(cost.waited_ns > 0 for cost in received)


def test_threads_of_a_pool_have_lanes_of_their_own() -> None:
    """The kernel of a pool's thread is shown with its thread, and is not a wait."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [300, 300], name="x")
        y = tf.add_n([tf.matmul(x, x) for _ in range(4)], name="y")
    config = tf.ConfigProto(inter_op_parallelism_threads=2, use_per_session_threads=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with tf.Session(graph=graph, config=config) as session, Recording() as recording:
        session.run(y, {x: np.ones((300, 300), np.float32)})
    record = recording.record
    assert len(record.elsewhere) >= 4
    assert record.threads
    times = dict(zip([n.name for n in record.scene.nodes], record.node_times_ns(), strict=True))
    assert times["MatMul"] > 0
    events = chrome_trace(record)["traceEvents"]
    named = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(record.threads) <= named
    waits = {e["name"] for e in events if e.get("cat") == "waits"}
    assert not any(name.startswith("MatMul") for name in waits)


def test_the_trace_counts_bytes_and_pairs_its_waits(record: RunRecord) -> None:
    """Counters have numbers, asynchronous slices have both ends, metadata have names."""
    for found in (record, recorded_loop()):
        events = chrome_trace(found)["traceEvents"]
        counters = [e for e in events if e["ph"] == "C"]
        assert all(isinstance(e["args"]["bytes"], int) for e in counters)
        assert {e["ph"] for e in events} <= {"M", "X", "C", "b", "e"}
        begun = [(e["cat"], e["id"]) for e in events if e["ph"] == "b"]
        assert begun == [(e["cat"], e["id"]) for e in events if e["ph"] == "e"]
        assert len(set(begun)) == len(begun)
        assert all(e["ts"] >= 0 for e in events if e["ph"] != "M")
    named = {e["name"] for e in chrome_trace(record)["traceEvents"] if e["ph"] == "C"}
    assert named == {"tensors"}
    named = {e["name"] for e in chrome_trace(recorded_loop())["traceEvents"] if e["ph"] == "C"}
    assert {"sent", "received"} <= named


def test_recording_keeps_nothing_alive() -> None:
    """Values are freed when the caller frees them."""
    import gc
    import weakref

    with tf.Graph().as_default() as graph:
        y = tf.random_uniform([512], name="y")
    with tf.Session(graph=graph) as session, Recording() as recording:
        value = session.run(y)
        reference = weakref.ref(value if value.base is None else value.base)
        del value
        gc.collect()
        assert reference() is None
    assert len(recording.record.tensors) >= 1
