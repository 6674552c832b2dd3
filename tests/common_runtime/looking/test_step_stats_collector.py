"""RunMetadata of a step agree with TensorFlow's of the same graph."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

import tfnb.client.session.session
import tfnb.common_runtime.session.direct_session_factory
import tfnb.ops.all_ops  # noqa: F401 - registers the ops
from tests.common_runtime.graph_defs import binary, const, node, placeholder, session
from tests.common_runtime.metadata_text import (
    cost_graph_text,
    fields_text,
    sharing_text,
    stats_text,
)
from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
from tfnb.common_runtime.looking.step_stats_collector import StepStatsCollector, add_allocations
from tfnb.common_runtime.session.session_factory import SessionOptions, new_session
from tfnb.core import dtypes, errors
from tfnb.proto import config_pb2, graph_pb2

CASES = json.loads((Path(__file__).parents[2] / "golden/step_stats.json").read_text())


def ran(case):
    """Return the metadata of the second run of a stored case."""
    config = config_pb2.ConfigProto(device_count={"CPU": 2})
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.build_cost_model = case["build_cost_model"]
    native = new_session(SessionOptions(config=config))
    data = zlib.decompress(base64.b85decode(case["graph"]))
    native.create(graph_pb2.GraphDef.FromString(data))
    if case["init"]:
        native.run({}, [], case["init"])
    level = config_pb2.RunOptions.TraceLevel.Value(case["level"])
    options, metadata = config_pb2.RunOptions(trace_level=level), config_pb2.RunMetadata()
    feeds = {
        name: np.asarray(value, bool if value is True else np.float32)
        for name, value in case["feeds"].items()
    }
    if case["name"].startswith("large"):
        feeds = {"x:0": np.zeros((512, 512), np.float32)}
    for _ in range(2):
        native.run(feeds, case["fetches"], [], options, metadata)
    native.close()
    return metadata


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_a_step_tells_what_tensorflow_tells(case):
    """Nodes by device, labels, shapes, bytes, shared buffers and costs agree."""
    metadata = ran(case)
    assert fields_text(metadata) == case["fields"]
    known = case["with_memory"]
    assert stats_text(metadata.step_stats, with_memory=known) == case["stats"]
    assert (sharing_text(metadata.step_stats) if known else []) == case["sharing"]
    assert cost_graph_text(metadata.cost_graph, with_memory=known) == case["cost_graph"]


FULL = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
LISTING = config_pb2.RunOptions(report_tensor_allocations_upon_oom=True)
HUGE = 1 << 44


def exhausting():
    """Build a thousand floats, then a tensor beyond the memory."""
    one = const("one", 1.0)
    one.input.append("^a")
    return session(
        placeholder("x"),
        placeholder("size", dtypes.int64),
        binary("a", "Mul", "x", "x"),
        node("shared", "Identity", "a", T=dtypes.float32),
        node(
            "one", "Const", "^a", dtype=dtypes.float32, value=const("c", 1.0).attr["value"].tensor
        ),
        node("huge", "Fill", "size", "one", T=dtypes.float32, index_type=dtypes.int64),
    )


def run_out(native, *arguments):
    """Return the error of a step of ``exhausting``."""
    feeds = {"x:0": np.ones(1000, np.float32), "size:0": np.array([HUGE])}
    with pytest.raises(errors.ResourceExhaustedError) as caught:
        native.run(feeds, ["a:0", "huge:0", "shared:0"], [], *arguments)
    return caught.value.message


def test_running_out_of_memory_names_form_and_device():
    """The message says how to list the holders of memory."""
    message = run_out(exhausting())
    assert message.startswith(
        f"OOM when allocating tensor with shape[{HUGE}] and type float on "
        "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu"
    )
    assert "Hint: If you want to see a list of allocated tensors when OOM happens" in message
    assert "Current usage" not in message


def test_a_partial_run_that_exhausts_memory_says_how_to_learn_more():
    """The message is that of a normal run."""
    native = exhausting()
    handle = native.partial_run_setup(["x:0", "size:0"], ["huge:0"], [])
    feeds = {"x:0": np.ones(2, np.float32), "size:0": np.array([HUGE])}
    with pytest.raises(errors.ResourceExhaustedError, match="Hint: If you want to see a list"):
        native.partial_run(handle, feeds, ["huge:0"])


def test_only_an_error_about_memory_says_how_to_list_tensors():
    """The kind of the error decides, not its words; it is said once, also by a nested step."""
    exhausted = errors.resource_exhausted("The ZOOM quota is used up.")
    add_allocations(exhausted, None)
    assert exhausted.message == "The ZOOM quota is used up."
    without_words = errors.out_of_memory("No room.")
    add_allocations(without_words, None)
    add_allocations(without_words, None)
    assert without_words.message.startswith("No room.\nHint: If you want to see a list")
    assert without_words.message.count("Hint") == 1


@pytest.mark.parametrize("metadata", [None, config_pb2.RunMetadata()])
def test_running_out_of_memory_lists_what_is_allocated(metadata):
    """The list is by device and allocator; memory of two views counts once."""
    native = exhausting()
    message = run_out(native, LISTING, metadata)
    assert message.endswith(
        "\nCurrent usage from device: /job:localhost/replica:0/task:0/device:CPU:0, allocator: cpu"
        "\n  3.9KiB from a\n"
    )
    assert "Hint" not in message
    feeds = {"x:0": np.ones(2, np.float32), "size:0": np.array([3])}
    assert native.run(feeds, ["huge:0"], [])[0].tolist() == [1.0, 1.0, 1.0]


def test_a_full_trace_tells_what_kernels_borrow():
    """A softmax allocates a temporary array; its bytes are not among the live ones."""
    native = session(placeholder("x"), node("y", "Softmax", "x", T=dtypes.float32))
    metadata = config_pb2.RunMetadata()
    value = np.ones((1000, 100), np.float32)
    native.run({"x:0": value}, ["y:0"], [], FULL, metadata)
    (device,) = metadata.step_stats.dev_stats
    (record,) = [row for row in device.node_stats if row.node_name == "y"]
    (memory,) = record.memory
    borrowed = record.memory_stats.temp_memory_size
    assert borrowed >= value.nbytes // 100
    assert memory.live_bytes == memory.allocator_bytes_in_use == value.nbytes
    assert memory.total_bytes == memory.peak_bytes == value.nbytes + borrowed


def test_allocations_are_told_with_when_they_ended():
    """The product is freed after its sum; the sum outlives the step."""
    native = session(
        placeholder("x"),
        binary("y", "Mul", "x", "x"),
        binary("z", "Add", "y", "y"),
    )
    metadata = config_pb2.RunMetadata()
    (kept,) = native.run({"x:0": np.ones(100, np.float32)}, ["z:0"], [], FULL, metadata)
    records = {
        row.node_name: [record.alloc_bytes for memory in row.memory
                        for record in memory.allocation_records]
        for row in metadata.step_stats.dev_stats[0].node_stats
    }  # fmt: skip
    assert (records["y"], records["z"]) == ([400, -400], [400])
    assert kept.nbytes == 400


def test_moments_of_a_node_are_in_order():
    """The order is ready, started, computed, done; microseconds agree with nanoseconds."""
    (case,) = [case for case in CASES if case["name"] == "plain FULL_TRACE 0"]
    for device in ran(case).step_stats.dev_stats:
        for row in device.node_stats:
            assert row.scheduled_nanos <= row.all_start_nanos
            assert 0 <= row.op_start_rel_nanos <= row.op_end_rel_nanos <= row.all_end_rel_nanos
            assert row.all_start_micros == row.all_start_nanos // 1000


def test_a_trace_of_a_loop_charges_a_node_what_it_cost():
    """Constants, Switches and Merges of an emitted function take no time, a comparison does."""
    (case,) = [case for case in CASES if case["name"] == "loop FULL_TRACE 1"]
    times = {}
    for row in ran(case).step_stats.dev_stats[0].node_stats:
        op = row.timeline_label.partition(" = ")[2].partition("(")[0]
        times[op] = times.get(op, 0) + row.all_end_rel_nanos
    idle = {"Const", "Enter", "Merge", "Switch", "NextIteration", "Exit", "LoopCond", "_Retval"}
    assert {op for op, ns in times.items() if ns == 0} >= idle & times.keys()
    assert times["Less"] > 0


def test_small_kernels_are_traced_without_a_trace_of_memory():
    """Memory of small kernels is not traced, because that would take longer than they do."""
    tracing = []

    for size in (8, 1 << 18):
        collector = StepStatsCollector(measures_kernels=True)
        item = NodeItem(0, "x", "Identity")
        collector.record_outputs(1, 0, "", item, (np.zeros(size, np.int8),))
        tracing.append(tracemalloc.is_tracing())
        collector.finish()
    assert tracing == [False, True]
    assert not tracemalloc.is_tracing()
