"""Steps on a double of CuPy: fused kernels, CUDA graphs, and the order of work in streams.

The double notes a race wherever two streams use the same memory and no event orders them; the
fixture fails a test with a race.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading

import numpy as np
import pytest

import tfnb as tf
from tests.common_runtime.device.recording_cupy import CUDARuntimeError, _Stream
from tests.repeats import few
from tfnb.common_runtime.device.gpu_device import GpuDevice
from tfnb.common_runtime.device.gpu_graph import GraphSegment
from tfnb.common_runtime.device.gpu_options import GpuSpec
from tfnb.common_runtime.executor.run_state import RunState
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.core.step_events import IDLE_HOOKS

F = np.float32


def device(index=0):
    """A GPU."""
    return GpuDevice(f"/device:GPU:{index}", GpuSpec(index))


def put(gpu, value):
    """Copy a host array to a GPU."""
    return gpu.copy_from_host(np.asarray(value, F))


def host(gpu, array):
    """Copy a GPU's array to the host, after it was computed."""
    return gpu.begin_copy_to_host(array).value()


def segment_of(gpu, *functions):
    """Make a segment from functions of the array module and the arrays so far."""
    kernels = [
        gpu.wrap_kernel(lambda *arrays, f=f: f(gpu.xp, *arrays), "n", "Op") for f in functions
    ]

    def body(*args):
        found = list(args)
        for kernel in kernels:
            found.append(kernel(*found))
        return (found[-1],)

    return GraphSegment(gpu, body, 100), body


def entries(cupy, kind):
    """Return the queued work of a kind."""
    return [entry for entry in cupy.history if entry[0] == kind]


def activations(x, w):
    """Build a cluster, a sum and two nodes."""
    h = tf.nn.relu(x * w + 0.5)
    y = tf.tanh(h) * 2.0 - h
    return y, tf.exp(-tf.reduce_sum(y, axis=1))


# -- what becomes a graph


def test_a_segment_is_captured_when_it_comes_the_second_time(cupy):
    """The first time kernels run one by one; then the segment is captured; then only launched."""
    gpu = device()
    segment, body = segment_of(
        gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.add(x, y), lambda xp, *a: xp.tanh(a[-1])
    )
    x = put(gpu, [0, 1, 2])
    assert segment(x) is None
    assert segment.report() == ["kernel by kernel: no form of its arguments came twice"]
    wanted = host(gpu, body(x)[0])
    cupy.history.clear()
    assert host(gpu, segment(x)[0]).tolist() == wanted.tolist()
    assert len(entries(cupy, "capture")) == len(entries(cupy, "launch")) == 1
    cupy.history.clear()
    again = segment(x)[0]
    assert [entry[0] for entry in cupy.history] == ["launch"]
    assert host(gpu, again).tolist() == wanted.tolist()
    assert segment.report() == ["captured 1 times, 1 graphs kept, launched 2 times"]


@pytest.mark.parametrize("holds", ["the array", "a view", "nothing"])
def test_results_are_the_callers(holds, cupy):
    """Results are returned without a copy.

    If the caller holds one, the next launch gives a copy.
    """
    gpu = device()
    segment, _ = segment_of(gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.add(y, y))
    x = put(gpu, [0, 0])
    segment(x)
    first = segment(x)[0]
    held = {"the array": first, "a view": first[:1], "nothing": None}[holds]
    first = None
    found = []
    for number in range(1, 6):
        gpu.in_compute_stream(lambda number=number: x.__setitem__(..., float(number)))
        out = segment(x)
        found.append(None if out is None else host(gpu, out[0])[0])
        del out
    wanted = [2 * np.exp(F(number)) for number in range(1, 6)]
    cupy.history.clear()
    if holds == "nothing":
        assert found == wanted
        assert segment.report() == ["captured 1 times, 1 graphs kept, launched 6 times"]
        segment(x)
        assert [entry[0] for entry in cupy.history] == ["launch"]
    else:
        assert found == [None, *wanted[1:]]
        assert segment.report() == ["captured 2 times, 1 graphs kept, launched 5 times"]
        assert set(host(gpu, held).tolist()) == {2}


def test_an_argument_that_moved_gets_a_place_in_the_graph(cupy):
    """The graph is captured again and then copies this argument; the others stay in place."""
    gpu = device()
    segment, _ = segment_of(gpu, lambda xp, x, y: xp.add(x, y), lambda xp, x, y, z: xp.exp(z))
    y = put(gpu, [0, 0])
    found = []
    for number in range(5):
        out = segment(put(gpu, [number, 0]), y)
        found.append(None if out is None else host(gpu, out[0])[0])
    assert found == [None, *[np.exp(F(number)) for number in range(1, 5)]]
    assert segment.report() == ["captured 2 times, 1 graphs kept, launched 4 times"]
    copies = [entry for entry in entries(cupy, "kernel") if entry[1] == "setitem"]
    # Results in two rehearsals; the argument in one, and before each later launch.
    assert len(copies) == 2 + 1 + 3


def test_there_is_a_graph_for_each_shape(cupy):
    """The oldest graph is dropped when there are too many."""
    gpu = device()
    segment, body = segment_of(gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.add(x, y))
    arrays = [put(gpu, np.zeros(size)) for size in range(1, 11)]
    for _ in range(2):
        for x in arrays:
            segment(x)
    assert segment.report() == ["kernel by kernel: no form of its arguments came twice"]
    for x in arrays[2:]:
        for _ in range(3):
            out = segment(x)
            assert out is None or host(gpu, out[0]).tolist() == host(gpu, body(x)[0]).tolist()
    assert "8 graphs kept" in segment.report()[0]


def test_what_a_graph_keeps_ends_with_it(cupy):
    """The graph's pool takes memory from the device's pool and returns it."""
    gpu = device()
    segment, _ = segment_of(gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.add(x, y))
    x = put(gpu, np.zeros(256))
    segment(x)
    before = gpu.pool.used_bytes()
    assert segment(x)[0].nbytes == 1024
    assert gpu.pool.used_bytes() > before
    del segment
    assert gpu.pool.used_bytes() == before


def test_values_in_host_memory_belong_to_the_form(cupy):
    """A graph does not read such values again: another axis needs another graph."""
    gpu = device()
    segment, _ = segment_of(
        gpu, lambda xp, x, axis: xp.sum(x, int(axis)), lambda xp, x, axis, y: xp.exp(y - y) * y
    )
    x = put(gpu, [[1, 2], [3, 4]])
    for _ in range(3):
        for axis, wanted in ((0, [4, 6]), (1, [3, 7])):
            out = segment(x, np.int32(axis))
            assert out is None or host(gpu, out[0]).tolist() == wanted
    assert "captured 2 times, 2 graphs kept, launched 4 times" in segment.report()
    assert segment(x, object()) is None
    assert segment(x, np.zeros(1000)) is None


def test_a_graph_that_would_copy_too_much_is_none(cupy):
    """A few kernels over large arrays are launched one by one."""
    gpu = device()
    body = gpu.wrap_kernel(lambda x: gpu.xp.add(x, x), "n", "Op")
    segment = GraphSegment(gpu, lambda x: (body(x),), 0)
    x = put(gpu, np.zeros(2))
    assert [segment(x), segment(x)] == [None, None]
    assert segment.report() == [
        "kernel by kernel: 8 bytes would be copied in each step, more than 0"
    ]
    assert entries(cupy, "capture") == []


# -- what does not


@pytest.mark.parametrize(
    "forbidden",
    [
        lambda xp, x: xp.matmul(x, x),
        lambda xp, x: xp.add(x, float(x.sum())),
        lambda xp, x: x if bool(x.any()) else -x,
        lambda xp, x: xp.add(x, xp.asarray(np.ones(2, F))),
        lambda xp, x: xp.where(x)[0],
    ],
)
def test_what_cuda_refuses_runs_kernel_by_kernel(forbidden, cupy):
    """The reason is reported, and the session goes on (cuBLAS, reading values, pageable memory)."""
    gpu = device()
    segment, body = segment_of(gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: forbidden(xp, y))
    x = put(gpu, np.ones((2, 2)))
    for _ in range(3):
        assert segment(x) is None
        assert np.isfinite(host(gpu, body(x)[0])).all()
    (line,) = segment.report()
    assert "CUDA failed on /device:GPU:0: cudaErrorStreamCaptureUnsupported" in line
    # The device still captures; only this form was refused.
    other, _ = segment_of(gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.add(x, y))
    assert [other(x) is None, other(x) is None] == [True, False]


@pytest.mark.parametrize("moment", ["begin_capture", "end_capture"])
def test_a_driver_that_cannot_capture_is_no_error(moment, cupy, monkeypatch):
    """The step runs without graphs."""

    def fail(self, *args):
        self.captured = None
        raise CUDARuntimeError("cudaErrorNotSupported")

    monkeypatch.setattr(_Stream, moment, fail)
    gpu = device()
    segment, body = segment_of(gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.add(x, y))
    x = put(gpu, [0])
    assert [segment(x), segment(x), segment(x)] == [None] * 3
    assert host(gpu, body(x)[0]).tolist() == [1]
    assert segment.report() == ["kernel by kernel: CUDARuntimeError: cudaErrorNotSupported"]


def test_an_interrupt_while_capturing_leaves_the_device_whole(cupy):
    """The interrupt reaches the user, and the next step captures again."""
    gpu = device()
    strikes = [2]

    def exp(xp, x):
        strikes[0] -= 1
        if strikes[0] == 0:
            raise KeyboardInterrupt
        return xp.exp(x)

    segment, _ = segment_of(gpu, exp, lambda xp, x, y: xp.add(x, y))
    x = put(gpu, [0])
    segment(x)
    with pytest.raises(KeyboardInterrupt):
        segment(x)
    assert host(gpu, segment(x)[0]).tolist() == [1]
    assert all(stream.captured is None for stream in cupy.streams)


def test_only_one_thread_uses_a_graph_at_a_time(cupy):
    """Another thread runs kernel by kernel meanwhile."""
    gpu = device()
    inside, go = threading.Event(), threading.Event()

    def wait(xp, x):
        inside.set()
        assert go.wait(60)
        return xp.exp(x)

    segment, _ = segment_of(gpu, wait, lambda xp, x, y: xp.add(x, y))
    x = put(gpu, [0])
    assert segment(x) is None
    found = []
    thread = threading.Thread(target=lambda: found.append(segment(x)))
    thread.start()
    assert inside.wait(60)
    assert segment(x) is None
    go.set()
    thread.join()
    assert host(gpu, found[0][0]).tolist() == [1]


# -- whole steps


def graph_of_a_step(on):
    """Build a training step: feeds, clusters, a product, an assignment, several fetches."""
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.device(on):
        v = tf.get_variable("v", initializer=np.ones((3, 3), F), use_resource=True)
        w = tf.get_variable("w", initializer=np.full(3, 0.5, F), use_resource=True)
        y, s = activations(tf.matmul(x, v), w)
        flags = tf.cast(y > 0.1, tf.int64) * 3 // 2
        updates = [v.assign_sub(0.01 * v * v + tf.reduce_mean(y)), w.assign(w * 0.9 + 0.01)]
    with tf.control_dependencies(updates):
        done = tf.identity(s + 1.0)
    return x, [y, s, flags, done]


def run_steps(on, count=6):
    """Return the results of steps, of which the last has another shape, and the variables."""
    found = []
    with tf.Graph().as_default(), tf.Session() as sess:
        x, fetches = graph_of_a_step(on)
        sess.run(tf.global_variables_initializer())
        for number in range(count):
            rows = 4 if number < count - 1 else 2
            value = np.linspace(-1, 1, rows * 3, dtype=F).reshape(rows, 3) * number
            found += sess.run(fetches, {x: value})
        found += sess.run(tf.global_variables())
        return found, sess.emitted_sources()


def test_steps_give_what_they_give_on_the_cpu(cupy):
    """Fused, captured, with asynchronous transfers: results are equal to the last bit."""
    wanted, _ = run_steps("/cpu:0")
    with lowering(Lowering.NEVER):
        reference, sources = run_steps("/gpu:0")
    assert sources == []
    found, sources = run_steps("/gpu:0")
    for one, other, third in zip(found, wanted, reference, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(third, other)
    text = "\n".join(sources)
    assert "fused1(" in text
    assert re.search(r"# segment\d: 'captured \d times, \d graphs kept, launched \d times'", text)
    assert entries(cupy, "launch")


# Every library rounds these correctly, so that bits can be compared.
UNARY = [tf.negative, tf.abs, tf.square, tf.floor, tf.nn.relu, tf.sign, tf.nn.relu6, tf.round]
BINARY = [tf.add, tf.subtract, tf.multiply, tf.divide, tf.maximum, tf.minimum,
          tf.squared_difference, tf.math.floormod]  # fmt: skip
CONSTANTS = [0.5, -3.0, 1e30, 0.0, np.inf]


def random_program(rng, on):
    """Build nodes with broadcasting, changing types, sums, products and variables."""
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.device(on):
        v = tf.get_variable("v", initializer=np.full((1, 3), 1.5, F), use_resource=True)
        values = [x, v.read_value(), x[:1]]
        for _ in range(rng.integers(8, 30)):
            a, b = (values[rng.integers(len(values))] for _ in range(2))
            kind = rng.integers(10)
            if kind < 3:
                made = UNARY[rng.integers(len(UNARY))](a)
            elif kind < 6:
                made = BINARY[rng.integers(len(BINARY))](a, b)
            elif kind == 6:
                made = a * CONSTANTS[rng.integers(len(CONSTANTS))]
            elif kind == 7:
                type_ = (tf.int32, tf.float16, tf.int8, tf.float64)[rng.integers(4)]
                made = tf.cast(tf.cast(tf.clip_by_value(a, -100.0, 100.0), type_) + 1, tf.float32)
            elif kind == 8:
                made = tf.where_v2(tf.logical_and(a > b, tf.math.is_finite(a)), a, b - 1.0)
            elif rng.random() < 0.5:
                made = tf.reduce_max(a, axis=0, keepdims=True)
            else:
                made = tf.matmul(tf.reshape(a, [-1, 3]), tf.ones([3, 3]))
            values.append(made)
        picked = [values[i] for i in rng.choice(len(values), 3)]
        with tf.control_dependencies(picked):
            update = v.assign(tf.clip_by_value(v * 0.5 + values[-1][:1], -9.0, 9.0))
    return x, [*picked, values[-1], update]


def run_program(seed, on):
    """Return the results of five steps; the shape changes once and comes back."""
    found = []
    with tf.Graph().as_default(), tf.Session() as sess:
        x, fetches = random_program(np.random.default_rng(seed), on)
        sess.run(tf.global_variables_initializer())
        for number, rows in enumerate((2, 2, 2, 1, 2, 1, 1)):
            value = np.linspace(-2, 3, rows * 3, dtype=F).reshape(rows, 3) * F(number % 4)
            found += sess.run(fetches, {x: value})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("block", few(range(10), 3))
def test_random_programs_give_what_they_give_on_the_cpu(block, cupy):
    """Random combinations of fused and captured kernels give equal bits without races."""
    num_launches = 0
    for seed in range(8 * block, 8 * block + 8):
        with lowering(Lowering.NEVER):
            wanted = run_program(seed, "/cpu:0")
        cupy.history.clear()
        found = run_program(seed, "/gpu:0")
        num_launches += len(entries(cupy, "launch"))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}")
            assert one.dtype == other.dtype
        assert (seed, cupy.races) == (seed, [])
    assert num_launches


def test_a_node_of_many_functions_is_one_kernel(cupy):
    """Its functions are fused also alone; so are a bias and an activation."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2, 3])
        with tf.device("/gpu:0"):
            y = tf.nn.softplus(x)
            z = tf.nn.relu(tf.nn.bias_add(x, tf.constant([1, 2, 3], tf.float32)))
        value = np.linspace(-3, 3, 6, dtype=F).reshape(2, 3)
        wanted = sess.run([y, z], {x: value})
        for _ in range(3):
            cupy.history.clear()
            for one, other in zip(sess.run([y, z], {x: value}), wanted, strict=True):
                np.testing.assert_array_equal(one, other)
        assert [entry[1] for entry in entries(cupy, "kernel")] == ["tfnb_fused"] * 2


def test_what_stands_among_kernels_goes_in_front_or_behind(cupy):
    """Transfers and variable accesses among kernels are moved out, so that one segment remains."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2, 2])
        with tf.device("/gpu:0"):
            v = tf.get_variable("v", initializer=np.ones(2, F), use_resource=True)
            first = tf.reduce_sum(tf.exp(x), 0)
            second = tf.reduce_max(first * v, 0, keepdims=True)
            with tf.control_dependencies([first]):
                changed = v.assign_add(first)
            third = tf.reduce_sum(second - 1.0)
            with tf.control_dependencies([changed, third]):
                last = tf.reduce_sum(v.read_value() + third)
        sess.run(tf.global_variables_initializer())
        held = np.ones(2, F)
        for number in range(4):
            value = np.full((2, 2), number / 4, F)
            found = sess.run([first, second, third, last], {x: value})
            sums = np.exp(value).sum(0)
            # The order of the product and the assignment is open.
            before, behind = held, held + sums
            held = behind
            np.testing.assert_allclose(found[0], sums, rtol=1e-6)
            assert any(np.allclose(found[1], (sums * one).max()) for one in (before, behind))
            np.testing.assert_allclose(found[2], found[1].sum() - 1, rtol=1e-6)
            np.testing.assert_allclose(found[3], (held + found[2]).sum(), rtol=1e-6)
        (source,) = sess.emitted_sources()
        assert source.count(" = segment") <= 2
        assert "launched" in source


def test_two_gpus_and_the_cpu_run_as_one_function(cupy):
    """Transfers wait for what they send, and for nothing else."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [4])
        with tf.device("/gpu:0"):
            a = tf.exp(x) * 2.0
        with tf.device("/gpu:1"):
            b = tf.tanh(a) + tf.cast(tf.size(x), tf.float32)
        with tf.device("/cpu:0"):
            c = tf.cumsum(b)
        with tf.device("/gpu:0"):
            d = a - c
        for number in range(4):
            value = np.arange(4, dtype=F) * F(number)
            doubled = np.exp(value) * F(2)
            wanted = doubled - np.cumsum(np.tanh(doubled) + F(4))
            np.testing.assert_allclose(sess.run(d, {x: value}), wanted, rtol=1e-6)
        assert len(sess.emitted_sources()) == 1


def test_a_step_enters_its_stream_once(cupy, monkeypatch):
    """The stream is entered once per step; the user's code runs with the user's stream."""
    entered = []
    plain = _Stream.__enter__
    monkeypatch.setattr(_Stream, "__enter__", lambda self: (entered.append(self), plain(self))[1])
    counts = []
    for num_kernels in (2, 12):
        with tf.Graph().as_default(), tf.Session() as sess:
            with tf.device("/gpu:0"):
                y = v = tf.get_variable("v", initializer=np.eye(2, dtype=F), use_resource=True)
                for _ in range(num_kernels):
                    y = tf.matmul(y, v)
            sess.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(y)
            entered.clear()
            sess.run(y)
            counts.append(len(entered))
    assert counts == [1, 1]
    streams = []
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.device("/gpu:0"):
            y = tf.ones([2]) + 1.0
        z = tf.py_func(lambda y: (streams.append(cupy.stream), y)[1], [y], tf.float32)
        for _ in range(3):
            assert sess.run(z).tolist() == [2, 2]
    assert streams == [None] * 3


def test_a_loop_on_the_gpu_runs_as_a_function(cupy):
    """The counter stays on the host; the body is one kernel per iteration."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3])
        with tf.device("/gpu:0"):
            _, y = tf.while_loop(
                lambda i, _: i < 5, lambda i, y: (i + 1, tf.tanh(y * 2.0 + 0.1)), [0, x]
            )
        wanted = np.arange(3, dtype=F)
        for _ in range(5):
            wanted = np.tanh(wanted * F(2) + F(0.1))
        for _ in range(3):
            np.testing.assert_array_equal(sess.run(y, {x: np.arange(3)}), wanted)


def test_a_step_that_fails_says_where(cupy):
    """The error names the node, also in a cluster; the session stays usable."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32)
        with tf.device("/gpu:0"):
            y = tf.tanh(tf.add(x, np.ones(3, F), name="sum") * 2.0)
        for _ in range(3):
            assert sess.run(y, {x: [1, 2, 3]}).shape == (3,)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)Incompatible.*node sum"):
            sess.run(y, {x: [1, 2]})
        assert sess.run(y, {x: [[1], [2]]}).shape == (2, 3)
        assert "node by node: 'NotElementwise: Incompatible" in sess.emitted_sources()[0]


def test_a_copy_without_a_waiter_keeps_its_memory(cupy):
    """When the step ends before its copy, the memory is reused only behind the copy."""
    gpu = device()
    copy = gpu.begin_copy_to_host(put(gpu, np.arange(1000)))
    del copy
    later = [put(gpu, np.zeros(1000)) for _ in range(3)]
    assert gpu.begin_copy_to_host(later[0]).value().tolist() == [0] * 1000


class _NeverDone:
    """An event whose work does not end until the test allows it."""

    def __init__(self):
        self.go = threading.Event()
        self.done = False
        self.number, self.clock = 0, {}

    def happen(self):
        """Do nothing: no work is queued before it."""

    def synchronize(self):
        """Sleep until the work may end."""
        assert self.go.wait(60)


def test_a_step_that_waits_for_the_gpu_ends_when_it_is_asked_to(cupy):
    """A time-out, close() or an interrupt ends the step while the GPU computes."""
    gpu = device()
    event = _NeverDone()
    run_state = RunState(None, IDLE_HOOKS)
    stopper = threading.Timer(0.01, run_state.end, [tf.errors.CancelledError(None, None, "over")])
    stopper.start()
    try:
        with pytest.raises(tf.errors.CancelledError, match="over"):
            gpu._wait(event, run_state)
    finally:
        event.go.set()
        stopper.join()
    gpu.close()


def test_a_time_out_ends_a_lowered_step_on_the_gpu(cupy, monkeypatch):
    """The session stays usable."""
    event = _NeverDone()
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/gpu:0"):
            y = tf.exp(x) + 1.0
        for _ in range(3):
            assert sess.run(y, {x: [0, 0]}).tolist() == [2, 2]
        options = tf.RunOptions(timeout_in_ms=20)
        gpu = sess.runtime.device_mgr.lookup("/gpu:0")
        with monkeypatch.context() as patch:
            patch.setattr(gpu, "begin_copy", lambda lent, staged: event)
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(y, {x: [0, 0]}, options=options)
            event.go.set()
        assert sess.run(y, {x: [0, 0]}).tolist() == [2, 2]


def test_an_interrupt_while_the_host_waits_leaves_nothing_behind(cupy, monkeypatch):
    """Memory of started copies is released in order; the next step is unaffected."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/gpu:0"):
            y, z = tf.exp(x) + 1.0, tf.negative(x) * 2.0
        for _ in range(3):
            sess.run([y, z], {x: [0, 0]})
        gpu = sess.runtime.device_mgr.lookup("/gpu:0")

        def interrupt(*args):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(gpu, "_wait", interrupt)
            with pytest.raises(KeyboardInterrupt):
                sess.run([y, z], {x: [1, 1]})
        for number in range(3):
            found = sess.run([y, z], {x: [number, 0]})
            np.testing.assert_array_equal(found[0], np.exp(F([number, 0])) + 1)
            np.testing.assert_array_equal(found[1], [-2 * number, 0])


def test_running_out_of_memory_ends_a_step_and_no_more(cupy):
    """The error names the node; smaller steps run, with graphs again."""
    config = tf.ConfigProto()
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1])
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        with tf.device("/gpu:0"):
            y = tf.reduce_sum(tf.concat([tf.exp(x) * 2.0, x], 0, name="both") - 1.0)
        for size in (3, 3, 3, 100_000, 3, 100_000, 3):
            if size == 3:
                assert sess.run(y, {x: [0, 0, 0]}) == 0
                continue
            with pytest.raises(
                tf.errors.ResourceExhaustedError, match=r"OOM when alloc(?s:.)*GPU:0"
            ):
                sess.run(y, {x: np.zeros(size)})


def test_steps_of_several_threads_share_graphs(cupy):
    """Each thread gets the values of its own feeds."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3])
        with tf.device("/gpu:0"):
            y = tf.reduce_max(tf.exp(x) * 2.0, keepdims=True) - tf.tanh(x)
            z = tf.reduce_sum(y)
        failures = []

        def work(number):
            for turn in range(6):
                value = np.full(3, (number + turn) % 5, F)
                wanted = np.exp(value) * F(2) - np.tanh(value)
                found = sess.run([y, z], {x: value})
                if not np.allclose(found[0], wanted) or not np.isclose(found[1], wanted.sum()):
                    failures.append((number, turn, found))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert "launched" in sess.emitted_sources()[0]


def test_nothing_of_a_graph_gets_into_cuda_source(cupy, monkeypatch):
    """CUDA source contains numbers of a graph, but none of its names and texts."""
    texts = []
    plain = cupy.ElementwiseKernel.__init__

    def note(self, *args, **kwargs):
        texts.append(repr((args, kwargs)))
        plain(self, *args, **kwargs)

    monkeypatch.setattr(cupy.ElementwiseKernel, "__init__", note)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2], name="evil_placeholder")
        with tf.device("/gpu:0"), tf.name_scope("evil.scope-1/evil"):
            y = tf.tanh(tf.add(x, 0.123456789, name="evil") * 2.0, name="evil")
        for _ in range(3):
            sess.run(y, {x: [0, 1]})
    assert texts
    assert not any("evil" in text for text in texts)
    assert any("float(0.12345679f)" in text for text in texts)


# -- every wait is one that is needed


def run_everything(cupy):
    """Run all kinds of transfers and captures, which reuse memory many times."""
    first, second = device(0), device(1)
    box = []
    segment, _ = segment_of(first, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.add(x, y))
    for number in range(4):
        x = put(first, np.full(64, number))
        y = first.wrap_kernel(lambda x: first.xp.add(x, x), "n", "Op")(x)
        z = second.take(first.lend(y))
        z = second.wrap_kernel(lambda z: second.xp.negative(z), "n", "Op")(z)
        copies = [first.begin_copy_to_host(y), second.begin_copy_to_host(z)]
        del y, z
        out = segment(x)
        if number % 2:
            box += [copy.value()[0] for copy in copies]
        del copies, out, x
    with cupy.cuda.Device(0):
        user = first.adopt(cupy.asarray(np.ones(64, F)))
        found = first.wrap_kernel(lambda x: first.xp.add(x, x), "n", "Op")(user)
        first.hand_over()
        box.append(cupy.add(found, found).get()[0])
    assert box == [2, -2, 6, -6, 4]


def places_of_waits(cupy, monkeypatch, without=None):
    """Run everything; return the places where the device makes a stream wait for an event.

    Args:
      cupy: the double.
      monkeypatch: removes the waits of one place.
      without: that place.
    """
    places = set()
    for kind in (cupy.cuda.Stream, type(cupy.cuda.get_current_stream())):
        plain = kind.wait_event

        def wait(self, event, plain=plain):
            frame = sys._getframe(1)
            place = frame.f_code.co_name, frame.f_lineno, frame.f_back.f_code.co_name
            places.add(place)
            if place != without:
                plain(self, event)

        monkeypatch.setattr(kind, "wait_event", wait)
    with contextlib.suppress(AssertionError):  # rubbish was computed with, as well
        run_everything(cupy)
    return places


def test_a_missing_event_is_a_race(cupy, monkeypatch):
    """Without the waits of any one place, the double finds a race.

    This shows that a forgotten wait would fail a test, and that no wait is superfluous.
    """
    with monkeypatch.context() as patch:
        places = places_of_waits(cupy, patch)
    assert cupy.races == []
    assert len(places) == 12
    for place in sorted(places):
        with monkeypatch.context() as patch:
            places_of_waits(cupy, patch, place)
        assert cupy.races, place
        cupy.races.clear()


# -- on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_on_a_gpu(seed):
    """Results have the CPU's bits, except for divisions and sums."""
    with lowering(Lowering.NEVER):
        wanted = run_program(seed, "/cpu:0")
    for one, other in zip(run_program(seed, "/gpu:0"), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
def test_a_training_step_on_a_gpu():
    """Nearly all of a hundred steps launch graphs, and their memory does not grow."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x, fetches = graph_of_a_step("/gpu:0")
        sess.run(tf.global_variables_initializer())
        gpu = sess.runtime.device_mgr.lookup("/gpu:0")
        used = []
        for number in range(100):
            sess.run(fetches, {x: np.full((4, 3), number / 100, F)})
            used.append(gpu.pool.used_bytes())
        text = "\n".join(sess.emitted_sources())
    assert max(used[10:]) == min(used[10:])
    assert re.search(r"launched 9\d times", text), text


@pytest.mark.gpu
def test_a_segment_is_captured_on_a_gpu():
    """Reductions are captured; a product is refused, and the device stays usable."""
    gpu = GpuDevice("/device:GPU:0", GpuSpec(0))
    segment, body = segment_of(
        gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.add(x, y), lambda xp, *a: a[-1].sum(0)
    )
    x = put(gpu, np.linspace(-1, 1, 12).reshape(3, 4))
    wanted = host(gpu, body(x)[0])
    for _ in range(5):
        out = segment(x)
        assert out is None or np.array_equal(host(gpu, out[0]), wanted)
    assert segment.report() == ["captured 1 times, 1 graphs kept, launched 4 times"]
    product, body = segment_of(gpu, lambda xp, x: xp.exp(x), lambda xp, x, y: xp.matmul(y, y.T))
    for _ in range(3):
        out = product(x)
        assert np.isfinite(host(gpu, (out or body(x))[0])).all()
