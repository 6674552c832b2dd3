"""The GPU device on a double of CuPy: streams, events, staging, errors; and on a real GPU."""

from __future__ import annotations

import gc
import sys
import threading

import numpy as np
import pytest

import tfnb as tf
from tests.common_runtime.device.recording_cupy import (
    CUDARuntimeError,
    OutOfMemoryError,
    RecordingCupy,
    forget,
)
from tfnb.client.debugger.debugger import Debugger
from tfnb.common_runtime.device import gpu_device
from tfnb.common_runtime.device.device_mgr import DeviceMgr, make_local_devices
from tfnb.common_runtime.device.gpu_device import GpuDevice
from tfnb.common_runtime.device.gpu_options import GpuSpec
from tfnb.common_runtime.device.gpu_staging import StagingPool
from tfnb.core import array_module, errors
from tfnb.core.resource_mgr import RefCell
from tfnb.proto import config_pb2

F = np.float32


def answer_of(start):
    """Return the answer of an asynchronous call."""
    box, came = [], threading.Event()

    def done(value):
        box.append(value)
        came.set()

    start(done)
    assert came.wait(60)
    (value,) = box
    if isinstance(value, BaseException):
        raise value
    return value[0]


def gpus(cupy, count=1, **fields):
    """Return n devices."""
    return [GpuDevice(f"/device:GPU:{i}", GpuSpec(i, **fields)) for i in range(count)]


def run_on(device, function, *args):
    """Return the result of a kernel of the device."""
    return device.wrap_kernel(lambda *inputs: function(device.xp, *inputs), "n", "Op")(*args)


# -- transfers


def test_an_array_goes_to_the_gpu_and_back(cupy):
    """Type, shape and bits are kept."""
    (device,) = gpus(cupy)
    for host in (
        np.arange(6, dtype=F).reshape(2, 3),
        np.arange(6, dtype=F).reshape(2, 3).T,
        np.array([True, False]),
        np.array(2.5, F),
        np.float64(1.5),
        np.zeros((0, 3), np.int64),
    ):
        there = answer_of(lambda done, host=host: device.receive(host, done))
        assert array_module.is_device_array(there)
        lent = device.lend(there)
        back = answer_of(lambda done, lent=lent: device.receive_on_host(lent, done))
        assert (back.dtype, back.shape) == (host.dtype, host.shape)
        assert back.tobytes() == np.asarray(host).tobytes()
    device.close()


def test_what_a_gpu_cannot_hold_passes_through(cupy):
    """Strings and handles pass through in all directions."""
    (device,) = gpus(cupy)
    for value in (np.array([b"a"], object), object()):
        assert device.lend(value) is value
        assert answer_of(lambda done, value=value: device.receive(value, done)) is value
        assert answer_of(lambda done, value=value: device.receive_on_host(value, done)) is value


def test_a_copy_to_the_gpu_returns_at_once_and_kernels_wait_for_it(cupy):
    """The Recv answers while the copy is still queued; the kernel behind it sees the values."""
    (device,) = gpus(cupy)
    box = []
    device.receive(np.arange(4, dtype=F), box.append)
    ((array,),) = box
    assert set(array.host.view(np.uint8).tolist()) == {0xCD}
    doubled = run_on(device, lambda xp, x: xp.add(x, x), array)
    assert doubled.host.tolist() == [0, 2, 4, 6]


def test_the_copy_waits_for_kernels_that_may_use_its_memory(cupy):
    """The order is: event on the compute stream, copy on its own stream, event, kernels."""
    (device,) = gpus(cupy)
    cupy.history.clear()
    device.copy_from_host(np.ones(3, F))
    compute, copying = device.compute_stream.name, device._from_host.name
    (record, wait, copy, behind, last) = cupy.history
    assert (record[0], record[2]) == ("record", compute)
    assert wait == ("wait", record[1], copying)
    assert copy == ("from host", 12, copying)
    assert (behind[0], behind[2]) == ("record", copying)
    assert last == ("wait", behind[1], compute)


def test_a_copy_to_the_host_waits_for_the_kernel_that_computes(cupy):
    """The copy waits for the event of the Send; the kernel runs on the compute stream."""
    (device,) = gpus(cupy)
    array = run_on(device, lambda xp, x: xp.exp(x), device.copy_from_host(np.zeros(2, F)))
    lent = device.lend(array)
    cupy.history.clear()
    assert answer_of(lambda done: device.copy_to_host(lent, done)).tolist() == [1, 1]
    wait, copy, _ = cupy.history
    assert wait == ("wait", lent.event.number, device._to_host.name)
    assert copy == ("to host", 8, device._to_host.name)


def test_the_array_lives_until_it_was_copied(cupy):
    """The array lives until the copy is done, although the step has released it."""
    (device,) = gpus(cupy)
    lent = device.lend(device.copy_from_host(np.arange(5, dtype=F)))
    box, came = [], threading.Event()
    with cupy.lock:  # the copy does not happen before
        device.copy_to_host(lent, lambda value: (box.append(value), came.set()))
        del lent
        device.compute_stream.drain()
    assert came.wait(60)
    assert box[0][0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("source_goes_on", [False, True])
def test_an_array_goes_from_gpu_to_gpu(source_goes_on, cupy):
    """The copy bypasses the host, waits for the array, and ends before its memory is reused."""
    first, second = gpus(cupy, 2)
    lent = [first.lend(first.copy_from_host(np.arange(3, dtype=F)))]
    cupy.history.clear()
    there = answer_of(lambda done: second.receive(lent.pop(), done))
    if source_goes_on:  # the source was let go of
        first.compute_stream.drain()
    assert there.device.id == 1
    assert run_on(second, lambda xp, x: xp.negative(x), there).host.tolist() == [0, -1, -2]
    assert not [entry for entry in cupy.history if entry[0] in ("from host", "to host")]
    (copy,) = [entry for entry in cupy.history if entry[0] == "from device"]
    (done,) = [e[1] for e in cupy.history if e[0] == "record" and e[2] == copy[2]]
    waiting = {entry[2] for entry in cupy.history if entry[:2] == ("wait", done)}
    assert waiting == {first.compute_stream.name, second.compute_stream.name}


def test_what_stays_on_the_device_is_not_copied(cupy):
    """A Send and a Recv of the same device copy nothing."""
    (device,) = gpus(cupy)
    array = device.copy_from_host(np.ones(2, F))
    assert answer_of(lambda done: device.receive(device.lend(array), done)) is array


def test_gaps_are_closed_before_a_copy(cupy):
    """A transposed array is made contiguous before it is copied."""
    (device,) = gpus(cupy)
    array = run_on(device, lambda xp, x: x.T, device.copy_from_host(np.arange(6).reshape(2, 3)))
    assert not array.flags.c_contiguous
    lent = device.lend(array)
    back = answer_of(lambda done: device.receive_on_host(lent, done))
    assert back.tolist() == [[0, 3], [1, 4], [2, 5]]


# -- staging


def test_pinned_memory_is_used_again(cupy):
    """A pinned buffer is reused after its copy has happened; until then another buffer is taken."""
    (device,) = gpus(cupy)
    first = device.copy_from_host(np.full(4, 1, F))
    second = device.copy_from_host(np.full(4, 2, F))
    assert cupy.num_pinned == 2
    total = run_on(device, lambda xp, x, y: xp.add(x, y), first, second)
    assert total.host.tolist() == [3, 3, 3, 3]
    device.copy_from_host(np.full(4, 3, F))
    device.copy_from_host(np.full(4, 3, F))
    assert cupy.num_pinned == 2


def test_staging_buffers_come_in_powers_of_two(cupy):
    """Sizes are powers of two, so that few buffers serve many tensors."""
    pool = StagingPool(cupy)
    sizes = [pool.take(size).num_bytes for size in (1, 4096, 4097, 100_000)]
    assert sizes == [4096, 4096, 8192, 131072]
    buffer = pool.take(5000)
    pool.give_back(buffer)
    assert pool.take(8192) is buffer
    pool.give_back(buffer)
    pool.clear()
    assert pool.take(8192) is not buffer


# -- kernels and errors


def test_kernels_run_on_their_device_in_its_stream(cupy):
    """Kernels run in the device's stream in any thread; the user's stream is restored."""
    _, second = gpus(cupy, 2)
    array = second.copy_from_host(np.ones(2, F))
    cupy.history.clear()
    box = []
    thread = threading.Thread(target=lambda: box.append(run_on(second, lambda xp, x: -x, array)))
    thread.start()
    thread.join()
    assert box[0].device.id == 1
    assert cupy.history == [("kernel", "negative", 1, second.compute_stream.name)]
    assert (cupy.device, cupy.stream) == (0, None)


def test_memory_comes_from_the_devices_own_pool(cupy):
    """CuPy's default pool, which a notebook may use itself, is not touched."""
    (device,) = gpus(cupy)
    array = device.copy_from_host(np.ones(256, F))
    assert (device.pool.used_bytes(), cupy.default_pool.used_bytes()) == (1024, 0)
    del array
    assert device.pool.used_bytes() == 0


def test_a_limit_of_memory_is_a_resource_exhausted_error(cupy):
    """The error has device, allocator, CuPy's message and the pool's contents."""
    (device,) = gpus(cupy, memory_limit=2000)
    array = device.copy_from_host(np.ones(256, F))
    with pytest.raises(errors.ResourceExhaustedError) as caught:
        run_on(device, lambda xp, x: xp.add(x, x), array)
    assert caught.value.message == (
        "OOM when allocating tensor on /device:GPU:0 by allocator GPU_0_bfc: Out of memory "
        "allocating 1,024 bytes (allocated so far: 1,024 bytes, limit set to: 2,000 bytes). "
        "The pool uses 1024 bytes and holds 0 more."
    )
    assert isinstance(caught.value.__cause__, OutOfMemoryError)
    with pytest.raises(errors.ResourceExhaustedError, match="by allocator GPU_0_bfc"):
        answer_of(lambda done: device.receive(np.ones(999, F), done))


def test_a_fault_of_the_gpu_is_an_internal_error(cupy):
    """The error may appear later, when a copy is waited for."""
    (device,) = gpus(cupy)

    def fail(xp):
        raise CUDARuntimeError("cudaErrorLaunchFailure: unspecified launch failure")

    with pytest.raises(errors.InternalError, match="CUDA failed on /device:GPU:0: cudaErrorLaun"):
        run_on(device, fail)
    lent = device.lend(device.copy_from_host(np.ones(2, F)))
    for wait in (
        lambda: answer_of(lambda done: device.copy_to_host(lent, done)),
        device.synchronize,
    ):
        cupy.failure = CUDARuntimeError("cudaErrorIllegalAddress")
        with pytest.raises(errors.InternalError, match="cudaErrorIllegalAddress"):
            wait()


def test_errors_of_kernels_pass_as_they_are(cupy):
    """Only CuPy's exceptions are translated."""
    (device,) = gpus(cupy)

    def fail(xp):
        raise errors.out_of_range("too far")

    with pytest.raises(errors.OutOfRangeError, match="too far"):
        run_on(device, fail)


# -- devices of a session


def test_attributes_tell_what_the_device_is(cupy):
    """The attributes are memory limit, name, bus and capability."""
    (device,) = gpus(cupy, memory_limit=1 << 20)
    assert device.attributes.memory_limit == 1 << 20
    assert device.attributes.physical_device_desc == (
        "device: 0, name: Double, pci bus id: 0000:01:00.0, compute capability: 9.0"
    )
    assert GpuDevice("/device:GPU:1", 1).attributes.memory_limit == cupy.memory


def test_devices_are_numbered_by_position_and_keep_their_cuda_numbers(cupy):
    """visible_device_list determines the order."""
    options = config_pb2.GPUOptions(visible_device_list="1,0")
    manager = DeviceMgr(make_local_devices({}, config_pb2.ConfigProto(gpu_options=options)))
    assert [device.index for device in manager.devices] == [1, 0, 0]
    assert manager.lookup("/gpu:0").index == manager.lookup("/device:GPU:0").index == 1
    assert manager.lookup("/cpu:0") is manager.host


def test_sessions_share_a_pool_and_the_first_one_limits_it(cupy):
    """The pool belongs to the process, as TensorFlow's allocator.

    Parts of one GPU have a pool each.
    """
    first = GpuDevice("/device:GPU:0", GpuSpec(0, 0, 5000))
    assert GpuDevice("/device:GPU:0", GpuSpec(0, 0, 9000)).pool is first.pool
    assert first.pool.limit == 5000
    assert GpuDevice("/device:GPU:1", GpuSpec(0, 1, 7000)).pool is not first.pool


def test_pools_are_of_the_kind_that_options_ask_for(cupy):
    """Pools use unified memory or the driver's pool."""
    pools = [
        gpu_device._memory_pool(cupy, GpuSpec(0, 2, uses_unified_memory=True)),
        gpu_device._memory_pool(cupy, GpuSpec(0, 3, allocates_in_stream_order=True)),
        gpu_device._memory_pool(cupy, GpuSpec(0, 4)),
    ]
    assert [pool.allocator for pool in pools] == ["unified", "in stream order", None]


def test_a_session_computes_on_the_gpu(cupy):
    """Feeds are copied there and fetches back; a variable stays.

    Shapes are computed on the host.
    """
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2])
        with tf.device("/gpu:0"):
            v = tf.get_variable("v", initializer=np.ones((2, 2), F), use_resource=True)
            y = tf.matmul(x, v) * 2.0
            size = tf.shape(y)[0]
        with tf.device("/gpu:1"):
            z = tf.exp(y - y)
        sess.run(tf.global_variables_initializer())
        found = sess.run([y, z, size], {x: [[1, 2], [3, 4], [5, 6]]})
    assert found[0].tolist() == [[6, 6], [14, 14], [22, 22]]
    assert found[1].tolist() == [[1, 1], [1, 1], [1, 1]]
    assert found[2] == 3
    ran = {(entry[1], entry[2]) for entry in cupy.history if entry[0] == "kernel"}
    assert {("matmul", 0), ("exp", 1)} <= ran


def test_a_variable_on_the_gpu_is_updated_in_place(cupy):
    """The update copies if another holder has the array, whose values do not change."""
    cell = RefCell("v", tf.float32)
    cell.value = cupy.asarray(np.ones(3, F))
    address = cell.value.data.ptr
    assert cell.writable().data.ptr == address
    kept = cell.value
    assert cell.writable().data.ptr != address
    assert kept.host.tolist() == cell.value.host.tolist() == [1, 1, 1]


def test_steps_on_the_gpu_may_use_a_pool_of_threads(cupy):
    """Each kernel runs with its device and stream in any thread."""
    config = tf.ConfigProto(use_per_session_threads=True, inter_op_parallelism_threads=3)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x = tf.placeholder(tf.float32, [4])
        with tf.device("/gpu:0"):
            sums = [tf.add(x, float(i)) for i in range(8)]
        with tf.device("/gpu:1"):
            total = tf.add_n([tf.multiply(one, 2.0) for one in sums])
        for _ in range(3):
            assert sess.run(total, {x: np.arange(4)}).tolist() == [56, 72, 88, 104]


def test_running_out_of_gpu_memory_lists_its_holders(cupy):
    """The list has the allocators of the GPU and of the host's memory."""
    config = tf.ConfigProto()
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1])
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        with tf.device("/gpu:0"):
            held = tf.add(x, 1.0, name="held")
            more = tf.concat([held, held], 0, name="more")
        options = tf.RunOptions(report_tensor_allocations_upon_oom=True)
        with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
            sess.run([held, more], {x: np.ones(100_000)}, options=options)
        assert "OOM when allocating tensor on /job:localhost" in caught.value.message
        assert (
            "Current usage from device: /job:localhost/replica:0/task:0/device:GPU:0, "
            "allocator: GPU_0_bfc\n  390.6KiB from held\n" in caught.value.message
        )
        assert sess.run(more, {x: [1, 2]}).tolist() == [2, 3, 2, 3]
        for _ in range(2):
            del caught  # its traceback holds what the step held
            gc.collect()
            with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
                sess.run([held, more], {x: np.ones(100_000)})
            told = "Largest live tensors: 390.6KiB of 'held' (float32[100000])"
            assert told in caught.value.message


def test_a_callable_feeds_and_fetches_on_the_gpu(cupy):
    """Nothing is copied, and the caller's own stream is ordered before and behind the kernels."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3])
        with tf.device("/gpu:0"):
            y = x + 1.0
        gpu = "/job:localhost/replica:0/task:0/device:GPU:0"
        options = config_pb2.CallableOptions(feed=[x.name], fetch=[y.name], fetch_skip_sync=True)
        options.feed_devices[x.name] = options.fetch_devices[y.name] = gpu
        native = sess.runtime
        native.extend(tf.get_default_graph().as_graph_def())
        handle = native.make_callable(options)
        value = cupy.asarray(np.arange(3, dtype=F))
        native.run_callable(handle, [value])
        cupy.history.clear()
        (found,) = native.run_callable(handle, [value])
        waits = [entry[2] for entry in cupy.history if entry[0] == "wait"]
        copies = [entry for entry in cupy.history if "host" in entry[0]]
        assert found.host.tolist() == [1, 2, 3]
        assert waits == [native.device_mgr.lookup("/gpu:0").compute_stream.name, "the user's"]
        assert copies == []
        (found,) = native.run_callable(handle, [np.ones(3, F)])
        assert found.host.tolist() == [2, 2, 2]


def test_closing_ends_copies_without_a_waiter(cupy):
    """A copy that begins when the session is closed is cancelled."""
    (device,) = gpus(cupy)
    lent = device.lend(device.copy_from_host(np.ones(2, F)))
    device.close()
    with pytest.raises(errors.CancelledError, match="has been closed"):
        answer_of(lambda done: device.copy_to_host(lent, done))


def test_a_debugger_changes_a_value_on_the_gpu_and_in_the_host(cupy):
    """The value is changed in the memory of each copy."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/cpu:0"):
            a = tf.add(x, 1.0, name="a")
        with tf.device("/gpu:0"):
            b = tf.multiply(a, 2.0, name="b")
        with tf.device("/cpu:0"):
            c = tf.add(a, b)
        for _ in range(3):
            assert sess.run(c, {x: [1, 2]}).tolist() == [6, 9]
        debugger = Debugger(sess)
        debugger._on_stop = lambda _: (debugger.set_value("a", [10.0, 20.0]), debugger.resume())
        one = debugger.break_at(b)
        with debugger:
            assert sess.run(c, {x: [1, 2]}).tolist() == [30, 60]
        assert one.hits == 1


def test_a_full_trace_has_the_times_of_the_gpu(cupy):
    """The times are under .../stream:all, by node and op."""
    config = tf.ConfigProto()
    config.graph_options.build_cost_model = 1
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/gpu:0"):
            y = tf.exp(x, name="y")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(y, {x: [0, 0]}, options=options, run_metadata=metadata)
    devices = {device.device: device for device in metadata.step_stats.dev_stats}
    kernels = {row.node_name: row for row in devices["/device:GPU:0/stream:all"].node_stats}
    (row,) = [row for row in metadata.cost_graph.node if row.name == "y"]
    # The double's clock counts a millisecond per event.
    assert kernels["y:Exp"].op_end_rel_micros == row.compute_cost == 1000
    rows = {
        r.node_name: r for r in devices["/job:localhost/replica:0/task:0/device:GPU:0"].node_stats
    }
    assert [memory.allocator_name for memory in rows["y"].memory] == ["GPU_0_bfc"]


def answers(count):
    """A CuPy whose driver gives these answers about devices."""
    double = RecordingCupy()
    double.cuda.runtime.getDeviceCount = count
    return double


def no_driver():
    """Behave like CuPy with an old or a missing driver."""
    raise CUDARuntimeError("cudaErrorInsufficientDriver")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (None, r"CUDA is not enabled\. Reason: CuPy is not installed: pip install 'tfnb\[gpu\]'\."),
        (answers(lambda: 0), "the CUDA driver knows no device"),
        (answers(no_driver), "the CUDA driver answers: cudaErrorInsufficientDriver"),
        ("broken", "CuPy does not load: libcublas is missing"),
    ],
)
def test_the_error_of_a_node_on_a_missing_gpu_has_the_reason(
    module, message, monkeypatch, tmp_path
):
    """The reasons are: CuPy is missing, no device, no driver, a broken driver."""
    if module == "broken":
        (tmp_path / "cupy.py").write_text("raise ImportError('libcublas is missing')")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "cupy", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "cupy", module)
    forget()
    try:
        with tf.Graph().as_default(), tf.Session() as sess:
            with tf.device("/gpu:0"):
                y = tf.constant(1.0)
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                sess.run(y)
    finally:
        forget()


# -- on a GPU


@pytest.mark.gpu
def test_a_gpu_computes_what_numpy_computes():
    """Feeds, kernels, copies and fetches are repeated many times."""
    random = np.random.default_rng(0)
    value = random.normal(size=(300, 200)).astype(F)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, None])
        with tf.device("/gpu:0"):
            y = tf.reduce_sum(tf.exp(-tf.square(x)), axis=1)
            z = tf.matmul(x, x, transpose_b=True)
        for _ in range(20):
            found_y, found_z = sess.run([y, z], {x: value})
            np.testing.assert_allclose(found_y, np.exp(-(value**2)).sum(1), rtol=1e-4)
            np.testing.assert_allclose(found_z, value @ value.T, rtol=1e-2, atol=1e-2)


@pytest.mark.gpu
def test_many_copies_at_once_do_not_mix():
    """Sixty-four feeds of several sizes are copied to the GPU and back."""
    values = [np.full(10 + 1000 * i, i, F) for i in range(64)]
    with tf.Graph().as_default(), tf.Session() as sess:
        feeds = [tf.placeholder(tf.float32, [None]) for _ in values]
        with tf.device("/gpu:0"):
            outs = [feed + 1.0 for feed in feeds]
        for _ in range(5):
            found = sess.run(outs, dict(zip(feeds, values)))
            for got, value in zip(found, values):
                np.testing.assert_array_equal(got, value + 1)


@pytest.mark.gpu
def test_a_limit_holds_on_a_gpu():
    """The session stays usable after the limit was reached."""
    config = tf.ConfigProto()
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[64, 64])
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        size = tf.placeholder(tf.int32, [1])
        with tf.device("/gpu:1"):
            y = tf.reduce_sum(tf.fill(size, 1.0))
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating tensor"):
            sess.run(y, {size: [100 << 20]})
        assert sess.run(y, {size: [1000]}) == 1000


@pytest.mark.gpu
def test_the_time_of_kernels_is_measured_on_a_gpu():
    """A product of large matrices has a measured time."""
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.device("/gpu:0"):
            x = tf.ones([2048, 2048])
            y = tf.reduce_sum(tf.matmul(x, x, name="product"))
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(y, options=options, run_metadata=metadata)
    (device,) = [d for d in metadata.step_stats.dev_stats if d.device.endswith("stream:all")]
    (row,) = [row for row in device.node_stats if row.node_name == "product:MatMul"]
    assert row.op_end_rel_micros > 0
