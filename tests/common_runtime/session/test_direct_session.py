"""The native session: graphs, signatures, callables, partial runs, time-outs, closing."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

from tests.common_runtime.graph_builder import GraphBuilder, run_executor
from tests.common_runtime.graph_defs import binary, const, graph_def, node, placeholder, session
from tests.common_runtime.native_ops import registered
from tfnb.common_runtime.session.session_factory import SessionOptions, new_session
from tfnb.core import dtypes, errors
from tfnb.core.resource_mgr import ResourceHandle
from tfnb.core.step_events import StepObserver
from tfnb.proto import config_pb2

F = np.float32
INT = dtypes.int32


def adding_session(**fields):
    """Return a session with s = p + 1, where p is a placeholder."""
    return session(placeholder("p"), const("one", 1.0), binary("s", "Add", "p", "one"), **fields)


def endless_loop():
    """while True: the Enter's value circulates forever."""
    frame = {"T": dtypes.float32, "frame_name": b"f", "parallel_iterations": 1}
    return (
        const("x", 1.0),
        const("go", True, dtypes.bool),
        node("enter", "Enter", "x", is_constant=False, **frame),
        node(
            "flag", "Enter", "go", T=dtypes.bool, frame_name=b"f", is_constant=True,
            parallel_iterations=1,
        ),
        node("merge", "Merge", "enter", "next", T=dtypes.float32, N=2),
        node("cond", "LoopCond", "flag"),
        node("switch", "Switch", "merge", "cond", T=dtypes.float32),
        node("next", "NextIteration", "switch:1", T=dtypes.float32),
        node("exit", "Exit", "switch", T=dtypes.float32),
    )  # fmt: skip


class Started(StepObserver):
    """Reports that a step has begun to iterate."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def iteration_started(self, step_id, partition, frame_id, iteration, t_ns):
        """Report the third iteration."""
        if iteration == 3:
            self.event.set()


def test_a_graph_may_be_set_once():
    """A second create fails, and the first graph stays usable."""
    native = adding_session()
    with pytest.raises(errors.AlreadyExistsError, match="A Graph has already been created"):
        native.create(graph_def(const("other", 1.0)))
    assert native.run({"p:0": F(1)}, ["s:0"], []) == [2.0]


def test_creating_an_empty_graph_is_nothing():
    """A later run fails without a graph; a graph may still be created."""
    native = new_session(SessionOptions())
    native.create(graph_def())
    with pytest.raises(
        errors.InvalidArgumentError, match=r"not created with a graph before Run\(\)!"
    ):
        native.run({}, ["c:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match=r"before PRunSetup\(\)!"):
        native.partial_run_setup([], ["c:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match=r"before MakeCallable\(\)!"):
        native.make_callable(config_pb2.CallableOptions(fetch=["c:0"]))
    native.create(graph_def(const("c", 3.0)))
    assert native.run({}, ["c:0"], []) == [3.0]


def test_closing_twice_is_once_and_ends_everything():
    """After close every call raises an error that says so."""
    native = adding_session()
    handle = native.make_callable(config_pb2.CallableOptions(feed=["p:0"], fetch=["s:0"]))
    native.close()
    native.close()
    for call in (
        lambda: native.run({"p:0": F(1)}, ["s:0"], []),
        lambda: native.run_callable(handle, [F(1)]),
        lambda: native.extend(graph_def(const("c", 1.0))),
        lambda: native.partial_run("h", {}, []),
    ):
        with pytest.raises(errors.CancelledError, match=r"Session has been closed\."):
            call()


def test_feeds_and_fetches_may_come_in_any_order_and_fetches_twice():
    """All orders share one set of executors."""
    native = session(placeholder("a"), placeholder("b"), binary("d", "Sub", "a", "b"))
    a, b = F(5), F(3)
    assert [*native.run({"a:0": a, "b:0": b}, ["d:0"], []), a] == [2.0, 5.0]
    assert native.run({"b:0": b, "a:0": a}, ["d:0", "d:0"], []) == [2.0, 2.0]
    one = native.prepare(("a:0", "b:0"), ("d:0",), ())
    other = native.prepare(("b:0", "a:0"), ("d:0",), ())
    assert one.executors is other.executors


def test_a_fetched_array_is_fresh_and_writable():
    """Writing to a result changes neither a constant, nor a feed, nor the next result."""
    native = session(const("c", [1.0, 2.0]), placeholder("p"), node("i", "Identity", "p", T=1))
    fed = np.array([3, 4], F)
    constant, passed = native.run({"p:0": fed}, ["c:0", "i:0"], [])
    constant += 10
    passed += 10
    assert fed.tolist() == [3, 4]
    again, _ = native.run({"p:0": fed}, ["c:0", "i:0"], [])
    assert again.tolist() == [1, 2]


def test_extending_adds_nodes_and_leaves_executors_alone():
    """New nodes may use old ones; a known name and another version are refused."""
    native = adding_session()
    before = native.prepare(("p:0",), ("s:0",), ())
    native.extend(graph_def(binary("t", "Mul", "s", "s")))
    assert native.run({"p:0": F(2)}, ["t:0"], []) == [9.0]
    assert native.prepare(("p:0",), ("s:0",), ()) is before
    with pytest.raises(errors.InvalidArgumentError, match="created by a previous call"):
        native.extend(graph_def(const("s", 1.0)))
    newer = graph_def(const("n", 1.0))
    newer.versions.producer = 28
    with pytest.raises(errors.InvalidArgumentError, match="Can't extend GraphDef at version"):
        native.extend(newer)
    assert native.run({"p:0": F(2)}, ["s:0"], []) == [3.0]


@pytest.mark.parametrize(
    ("feeds", "fetches", "targets", "error", "message"),
    [
        ({}, [], [], errors.InvalidArgumentError, "at least one target"),
        ({"q:0": F(1)}, ["s:0"], [], errors.NotFoundError, "unable to find feed output"),
        ({}, ["nope:0"], [], errors.NotFoundError, "not found"),
        ({}, [], ["nope"], errors.NotFoundError, "Some target nodes not found"),
        ({}, ["s:4"], [], errors.InvalidArgumentError, "output index too large"),
        ({"p:0": F(1), "p": F(1)}, ["s:0"], [], errors.InvalidArgumentError, "fed more than once"),
        ({"s:0": F(1)}, ["s:0"], [], errors.InvalidArgumentError, "both fed and fetched"),
    ],
)
def test_a_signature_that_does_not_fit_is_refused(feeds, fetches, targets, error, message):
    """TensorFlow's class and message are raised; the session stays usable."""
    native = adding_session()
    with pytest.raises(error, match=message):
        native.run(feeds, fetches, targets)
    assert native.run({"p:0": F(1)}, ["s:0"], []) == [2.0]


def test_a_missing_feed_fails_in_the_placeholder():
    """The error names the node."""
    with pytest.raises(errors.InvalidArgumentError, match="You must feed a value") as caught:
        adding_session().run({}, ["s:0"], [])
    assert caught.value.node_name == "p"


def test_a_dead_fetch_is_an_error_and_a_dead_target_is_none():
    """x -> Switch(False): its true side."""
    native = session(
        const("x", 1.0),
        const("no", False, dtypes.bool),
        node("switch", "Switch", "x", "no", T=dtypes.float32),
        node("after", "Identity", "switch:1", T=dtypes.float32),
    )
    with pytest.raises(
        errors.InvalidArgumentError, match=r"Retval\[0\] does not have value: 'after:0' is dead"
    ):
        native.run({}, ["after:0"], [])
    assert native.run({}, [], ["after"]) == []


def test_a_callable_takes_its_feeds_in_order():
    """Counts are checked; released and unknown handles have different errors."""
    native = session(placeholder("a"), placeholder("b"), binary("d", "Sub", "a", "b"))
    handle = native.make_callable(config_pb2.CallableOptions(feed=["b:0", "a:0"], fetch=["d:0"]))
    assert native.run_callable(handle, [F(3), F(5)]) == [2.0]
    with pytest.raises(errors.InvalidArgumentError, match="Expected 2 feed tensors, but got 1"):
        native.run_callable(handle, [F(3)])
    native.release_callable(handle)
    with pytest.raises(errors.InvalidArgumentError, match="after handle was released"):
        native.run_callable(handle, [F(3), F(5)])
    with pytest.raises(errors.InvalidArgumentError, match="No such callable handle"):
        native.run_callable(handle + 5, [])


def test_a_callable_can_splice_one_tensor_for_another():
    """d = a - b with a taken from b's place; a cycle is refused."""
    native = session(const("a", 5.0), const("b", 3.0), binary("d", "Sub", "a", "b"))
    options = config_pb2.CallableOptions(fetch=["d:0"])
    options.tensor_connection.add(from_tensor="b:0", to_tensor="a:0")
    assert native.run_callable(native.make_callable(options), []) == [0.0]
    cycle = config_pb2.CallableOptions(fetch=["d:0"])
    cycle.tensor_connection.add(from_tensor="d:0", to_tensor="a:0")
    with pytest.raises(errors.InvalidArgumentError, match="would create a cycle"):
        native.make_callable(cycle)


def test_a_step_that_takes_too_long_ends_with_the_deadline():
    """RunOptions.timeout_in_ms ends an endless loop; the session stays usable."""
    native = session(*endless_loop())
    with pytest.raises(errors.DeadlineExceededError, match="Timed out waiting for notification"):
        native.run({}, ["exit:0"], [], config_pb2.RunOptions(timeout_in_ms=30))
    assert native.run({}, ["x:0"], []) == [1.0]


def test_the_sessions_own_time_out_holds_for_every_run():
    """ConfigProto.operation_timeout_in_ms applies to every run."""
    native = session(*endless_loop(), operation_timeout_in_ms=30)
    with pytest.raises(errors.DeadlineExceededError, match="Timed out"):
        native.run({}, ["exit:0"], [])


def test_close_ends_a_step_that_runs_in_another_thread():
    """The running thread gets the error of a closed session."""
    native, started, caught = session(*endless_loop()), Started(), []
    native.step_events.add(started)

    def run() -> None:
        try:
            native.run({}, ["exit:0"], [])
        except errors.OpError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert started.event.wait(60)
    native.close()
    thread.join(60)
    assert not thread.is_alive()
    assert [errors.CancelledError] == [type(error) for error in caught]


def test_many_threads_run_one_session_without_mixing_results():
    """Same and different signatures at once."""
    native = session(
        placeholder("p"),
        const("one", 1.0),
        binary("s", "Add", "p", "one"),
        binary("m", "Mul", "p", "p"),
    )
    wrong = []

    def work(base: int) -> None:
        for i in range(50):
            value = F(base * 100 + i)
            if native.run({"p:0": value}, ["s:0", "m:0"][i % 2 : i % 2 + 1], []) != [
                value * value if i % 2 else value + 1
            ]:
                wrong.append((base, i))

    threads = [threading.Thread(target=work, args=(base,)) for base in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def partial_session():
    """x = a + 1; y = x * b."""
    return session(
        placeholder("a"),
        placeholder("b"),
        const("one", 1.0),
        binary("x", "Add", "a", "one"),
        binary("y", "Mul", "x", "b"),
    )


def test_a_partial_run_is_fed_and_fetched_piece_by_piece():
    """Feed a, fetch x, feed b, fetch y; then the handle has ended."""
    native = partial_session()
    handle = native.partial_run_setup(["a:0", "b:0"], ["x:0", "y:0"], [])
    assert native.partial_run(handle, {"a:0": F(2)}, ["x:0"]) == [3.0]
    assert native.partial_run(handle, {"b:0": F(5)}, []) == []
    assert native.partial_run(handle, {}, ["y:0"]) == [15.0]
    with pytest.raises(errors.InvalidArgumentError, match="Must run 'setup' before"):
        native.partial_run(handle, {}, ["y:0"])


@pytest.mark.parametrize(
    ("feeds", "fetches", "message"),
    [
        ({"c:0": F(1)}, [], "The feed c:0 was not specified in partial_run_setup."),
        ({"a:0": F(1)}, [], "The feed a:0 has already been fed."),
        ({}, ["z:0"], "The fetch z:0 was not specified in partial_run_setup."),
        ({}, ["x:0"], "The fetch x:0 has already been fetched."),
        ({}, ["y:0"], "can't be computed from the feeds that have been fed so far"),
    ],
)
def test_a_refused_part_leaves_the_partial_run_usable(feeds, fetches, message):
    """A refused call changes nothing in the partial run."""
    native = partial_session()
    handle = native.partial_run_setup(["a:0", "b:0"], ["x:0", "y:0"], [])
    native.partial_run(handle, {"a:0": F(2)}, ["x:0"])
    with pytest.raises(errors.InvalidArgumentError, match=message):
        native.partial_run(handle, feeds, fetches)
    assert native.partial_run(handle, {"b:0": F(5)}, ["y:0"]) == [15.0]


def test_several_partial_runs_and_plain_runs_do_not_meet():
    """Two handles and a run between their calls do not affect each other."""
    native = partial_session()
    setup = (["a:0", "b:0"], ["x:0", "y:0"], [])
    first, second = native.partial_run_setup(*setup), native.partial_run_setup(*setup)
    native.partial_run(first, {"a:0": F(1)}, [])
    native.partial_run(second, {"a:0": F(10)}, [])
    assert native.run({"a:0": F(5)}, ["x:0"], []) == [6.0]
    assert native.partial_run(second, {"b:0": F(2)}, ["y:0"]) == [22.0]
    assert native.partial_run(first, {"b:0": F(2)}, ["y:0"]) == [4.0]


def test_run_metadata_holds_the_partition_graphs_and_when_nodes_ran():
    """RunOptions request the metadata, and the next run overwrites them."""
    native, metadata = adding_session(), config_pb2.RunMetadata()
    options = config_pb2.RunOptions(
        trace_level=config_pb2.RunOptions.FULL_TRACE, output_partition_graphs=True
    )
    for _ in range(2):
        native.run({"p:0": F(1)}, ["s:0"], [], options, metadata)
    (partition,) = metadata.partition_graphs
    assert {"_arg_p_0_0", "one", "s", "_retval_s_0_0"} == {n.name for n in partition.node}
    (device,) = metadata.step_stats.dev_stats
    assert device.device.endswith("device:CPU:0")
    assert [n.node_name for n in device.node_stats if n.node_name == "s"] == ["s"]
    for stats in device.node_stats:
        assert 0 <= stats.op_end_rel_nanos <= stats.all_end_rel_nanos
    native.run({"p:0": F(1)}, ["s:0"], [], config_pb2.RunOptions(), metadata)
    assert not metadata.HasField("step_stats")


def test_a_finalized_session_runs_what_it_knows_and_nothing_new():
    """New signatures, nodes and callables are refused."""
    native = adding_session()
    native.run({"p:0": F(1)}, ["s:0"], [])
    native.finalize()
    assert native.run({"p:0": F(1)}, ["s:0"], []) == [2.0]
    for call in (
        lambda: native.run({}, ["one:0"], []),
        lambda: native.extend(graph_def(const("c", 1.0))),
        lambda: native.make_callable(config_pb2.CallableOptions(fetch=["one:0"])),
    ):
        with pytest.raises(errors.FailedPreconditionError, match=r"Session has been finalized\."):
            call()


def test_two_devices_exchange_values_and_order():
    """Each device has one partition, with a Send/Recv pair for the transferred value."""
    native = session(
        placeholder("p"),
        binary("a", "Add", "p", "p", device="/cpu:0"),
        binary("b", "Mul", "a", "a", device="/cpu:1"),
        device_count={"CPU": 2},
    )
    assert native.run({"p:0": F(2)}, ["b:0"], []) == [16.0]
    prepared = native.prepare(("p:0",), ("b:0",), ())
    ops = [[n.op for n in item.graph.op_nodes()] for item in prepared.executors.items]
    assert len(ops) == 2
    assert sum(o.count("_Send") for o in ops) == sum(o.count("_Recv") for o in ops) == 2


def test_devices_are_listed_with_their_attributes():
    """There are as many CPUs as requested, with names, limits and incarnations."""
    native = adding_session(device_count={"CPU": 3})
    cpus = [d for d in native.list_devices() if d.device_type == "CPU"]
    assert [d.name for d in cpus] == [
        f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3)
    ]
    assert all(d.memory_limit > 0 and d.incarnation != 0 for d in cpus)


def test_an_extension_that_is_refused_changes_nothing():
    """The second node has an unknown op, so the first is not added either."""
    native = adding_session()
    bad = graph_def(const("fine", 1.0))
    bad.node.add(name="odd", op="NoSuchOp")
    with pytest.raises(errors.NotFoundError, match="NoSuchOp"):
        native.extend(bad)
    native.extend(graph_def(const("fine", 4.0)))
    assert native.run({}, ["fine:0"], []) == [4.0]


def test_a_full_trace_tells_what_came_out_of_each_node():
    """Each output has label, shape, dtype and bytes; the partition begins with _SOURCE."""
    native, metadata = adding_session(), config_pb2.RunMetadata()
    options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
    native.run({"p:0": np.ones((2, 3), F)}, ["s:0"], [], options, metadata)
    (device,) = metadata.step_stats.dev_stats
    rows = {row.node_name: row for row in device.node_stats}
    assert [
        device.node_stats[0].node_name,
        device.node_stats[0].timeline_label,
    ] == ["_SOURCE", "_SOURCE = NoOp()"]
    assert rows["s"].timeline_label == "s = Add(_arg_p_0_0, one)"
    (output,) = rows["s"].output
    assert [dim.size for dim in output.tensor_description.shape.dim] == [2, 3]
    assert output.tensor_description.allocation_description.allocated_bytes == 24
    assert rows["s"].memory[0].live_bytes == 24


def test_a_node_that_ran_k_times_has_k_records_and_a_dead_one_none():
    """In a loop of three iterations Add has three records.

    The untaken side of the last has none.
    """
    frame = {"T": dtypes.float32, "frame_name": b"f", "parallel_iterations": 10}
    native = session(
        const("zero", 0.0),
        const("three", 3.0),
        const("one", 1.0),
        node("enter", "Enter", "zero", is_constant=False, **frame),
        node("limit", "Enter", "three", is_constant=True, **frame),
        node("step", "Enter", "one", is_constant=True, **frame),
        node("merge", "Merge", "enter", "next", T=dtypes.float32, N=2),
        binary("less", "Less", "merge", "limit"),
        node("cond", "LoopCond", "less"),
        node("switch", "Switch", "merge", "cond", T=dtypes.float32),
        binary("add", "Add", "switch:1", "step"),
        node("next", "NextIteration", "add", T=dtypes.float32),
        node("exit", "Exit", "switch", T=dtypes.float32),
    )
    metadata = config_pb2.RunMetadata()
    options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
    assert native.run({}, ["exit:0"], [], options, metadata) == [3.0]
    names = [row.node_name for row in metadata.step_stats.dev_stats[0].node_stats]
    assert tuple(names.count(n) for n in ("merge", "add", "exit")) == (4, 3, 1)


def test_every_nth_step_is_measured_after_the_first_k():
    """build_cost_model=2 and build_cost_model_after=1 measure the third and fifth of six steps."""
    config = config_pb2.ConfigProto()
    config.graph_options.build_cost_model = 2
    config.graph_options.build_cost_model_after = 1
    native = adding_session(config=config)
    measured = []
    for _ in range(6):
        metadata = config_pb2.RunMetadata()
        native.run({"p:0": np.ones(4, F)}, ["s:0"], [], config_pb2.RunOptions(), metadata)
        measured.append(bool(metadata.cost_graph.node))
    assert measured == [False, False, True, False, True, False]
    ((graph, model),) = native.export_cost_models().items()
    assert model.update_times == 2
    assert model.max_memory_size(graph.find_node("s"), 0) == 16


def test_the_cost_graph_lists_nodes_with_their_inputs_and_sizes():
    """A measured step gives a CostGraphDef."""
    config = config_pb2.ConfigProto()
    config.graph_options.build_cost_model = 1
    metadata = config_pb2.RunMetadata()
    adding_session(config=config).run(
        {"p:0": np.ones(4, F)}, ["s:0"], [], config_pb2.RunOptions(), metadata
    )
    rows = {row.name: row for row in metadata.cost_graph.node}
    sources = [metadata.cost_graph.node[i.preceding_node].name for i in rows["s"].input_info]
    assert sources == ["_arg_p_0_0", "one"]
    assert [(o.size, o.dtype) for o in rows["s"].output_info] == [(16, 1)]


def failing_beside():
    """X = a + 1, and at the end of a chain a quotient by b, which may fail."""
    return session(
        placeholder("a", INT),
        placeholder("b", INT),
        const("one", 1, INT),
        binary("x", "Add", "a", "one", INT),
        node("b1", "Identity", "b", T=INT),
        binary("b2", "Mul", "b1", "one", INT),
        binary("b3", "Mul", "b2", "one", INT),
        binary("q", "FloorDiv", "one", "b3", INT),
    )


def test_an_error_that_no_fetch_of_the_call_needs_is_logged_and_ends_the_next_call(caplog):
    """A value fetched before the error is returned."""
    native = failing_beside()
    handle = native.partial_run_setup(["a:0", "b:0"], ["x:0", "q:0"], [])
    feeds = {"a:0": np.int32(4), "b:0": np.int32(0)}
    assert native.partial_run(handle, feeds, ["x:0"]) == [5]
    assert "An error unrelated to this partial run has been detected" in caplog.text
    with pytest.raises(errors.InvalidArgumentError, match="division by zero"):
        native.partial_run(handle, {}, ["q:0"])
    with pytest.raises(errors.InvalidArgumentError, match="Must run 'setup'"):
        native.partial_run(handle, {}, ["q:0"])
    assert not native.active_steps()


def test_an_error_of_what_a_call_fetches_ends_the_partial_run():
    """The error ends the partial run, even if it was the only fetch."""
    native = failing_beside()
    handle = native.partial_run_setup(["a:0", "b:0"], ["x:0", "q:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match="division by zero"):
        native.partial_run(handle, {"b:0": np.int32(0)}, ["q:0"])
    with pytest.raises(errors.InvalidArgumentError, match="Must run 'setup'"):
        native.partial_run(handle, {"a:0": np.int32(1)}, ["x:0"])
    assert native.run({"a:0": np.int32(1)}, ["x:0"], []) == [2]


def test_a_handle_of_a_resource_cannot_be_fed():
    """Handles of resources are refused in runs and partial runs; other values are accepted."""
    native = session(
        placeholder("p", dtypes.resource),
        node("i", "Identity", "p", T=dtypes.resource),
        placeholder("q"),
        binary("s", "Add", "q", "q"),
    )
    handle = ResourceHandle("/cpu:0", "localhost", "v", "Var")
    message = "name: v type: Var.*Perhaps a resource tensor was being provided as a feed"
    for fetches in (["i:0"], ["i:0", "s:0"]):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            native.run({"p:0": handle, "q:0": F(1)}, fetches, [])
    made = native.make_callable(config_pb2.CallableOptions(feed=["p:0"], fetch=["i:0"]))
    with pytest.raises(errors.InvalidArgumentError, match=message):
        native.run_callable(made, [handle])
    part = native.partial_run_setup(["p:0"], ["i:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match=message):
        native.partial_run(part, {"p:0": handle}, ["i:0"])


def test_threads_that_build_one_signature_at_once_share_the_first():
    """Both threads build outside of the session's lock; one result is used."""
    native = adding_session()
    both, found = threading.Barrier(2), []

    class Meet(StepObserver):
        """Makes each thread wait until the other one has built executors."""

        def graph_partitioned(self, signature):
            """Wait for the other thread."""
            both.wait(60)

    native.step_events.add(Meet())
    threads = [
        threading.Thread(target=lambda: found.append(native.prepare(("p:0",), ("s:0",), ())))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    first, second = found
    assert first is second
    assert native.prepare(("p:0",), ("s:0",), ()) is first


def test_resources_of_a_step_end_with_it():
    """Each step has its own container, whether it succeeds or fails."""
    seen = []

    def keep(ctx, x):
        assert ctx.step_container.names() == []
        ctx.step_container.create("", "Test", "kept", Closed(seen, ctx.step_id))
        return np.int32(1) // x

    with registered("TestKeep", "x: int32 -> y: int32", keep, stateful=True):
        native = session(placeholder("p", INT), node("k", "TestKeep", "p"))
        assert native.run({"p:0": np.int32(1)}, ["k:0"], []) == [1]
        native.run({"p:0": np.int32(1)}, ["k:0"], [])
        assert len(seen) == len(set(seen)) == 2
        with pytest.raises(errors.OpError):
            native.run({"p:0": np.array(["no number"], object)}, ["k:0"], [])
    assert len(seen) == len(set(seen)) == 3
    assert native.device_mgr.host.resource_manager.names() == []


class Closed:
    """A resource that reports when it is closed."""

    def __init__(self, seen: list[int], step_id: int) -> None:
        self.seen, self.step_id = seen, step_id

    def close(self) -> None:
        """Report the end of the step."""
        self.seen.append(self.step_id)


def test_an_executor_without_a_node_ends_at_once():
    """A graph without ready nodes ends at once."""
    immutable = GraphBuilder().executor()
    assert immutable.roots == []
    assert run_executor(immutable, (), 0) == []
    immutable = dataclasses.replace(immutable, schedule=None)
    assert run_executor(immutable, (), 0) == []


def test_order_variants_of_a_callable_share_executors_too():
    """Lookup is by the given order, then by the sorted one; fetches may repeat."""
    native = session(placeholder("a"), placeholder("b"), binary("d", "Sub", "a", "b"))
    sorted_first = native.prepare(("a:0", "b:0"), ("d:0",), ())
    other = native.prepare(("b:0", "a:0"), ("d:0", "d:0"), ())
    assert other.executors is sorted_first.executors
    assert native.prepare(("b:0", "a:0"), ("d:0", "d:0"), ()) is other
    assert native.prepare(("a:0", "b:0"), (), ("d",)).executors is not other.executors
