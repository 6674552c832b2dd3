"""Compiled clusters give the values of their nodes, for all shapes, layouts and numbers."""

from __future__ import annotations

import itertools
from contextlib import suppress

import numpy as np
import pytest

import tfnb as tf
from tests.interrupts import InterruptAt
from tests.joined import in_batches
from tests.ops import samples
from tests.ops.kernel_runner import SampleRun
from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.common_runtime.lowering.rewrite import compiled_clusters
from tfnb.common_runtime.lowering.rewrite.compiled_clusters import CompiledCluster, WarmUp
from tfnb.common_runtime.lowering.support.machine_code import PARTS, data_of, write_kernel
from tfnb.common_runtime.lowering.support.traced import NotElementwise
from tfnb.core import op_registry
from tfnb.core.compiled.array_calls import as_function
from tfnb.core.compiled.helper import HELPER, CompiledKernel
from tfnb.core.compiled.routines import Prices, compiling_at_once
from tfnb.core.op_kernel import create_kernel

pytest.importorskip("llvmlite")


@pytest.fixture(name="_at_once")
def _at_once_fixture():
    with compiling_at_once():
        yield


@pytest.fixture(autouse=True)
def _compiles(_at_once, monkeypatch):
    # Prices that a test sets are undone before those of the other tests return.
    monkeypatch.setenv("TFNB_COMPILED", "1")


def compare(build, feeds, rtol=2e-6, atol=1e-6):
    """Run a graph the plain way and compiled; return the emitted source.

    Args:
      build: makes the fetches from the placeholders, by the names of the feeds.
      feeds: the arrays.
      rtol: the rounding of exp, tanh and log; 0 where no such function is used.
      atol: that of results around zero.
    """
    with tf.Graph().as_default(), tf.Session() as session:
        places = {
            name: tf.placeholder(np.asarray(value).dtype, name=name)
            for name, value in feeds.items()
        }
        fetches = build(**places)
        given = {places[name]: value for name, value in feeds.items()}
        plain = session.run(fetches, given)
        for _ in range(5):
            session.run(fetches, given)
        HELPER.wait()
        found = session.run(fetches, given)
        for one, other in zip(found, plain, strict=True):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol, atol, equal_nan=True)
        return session.emitted_sources()


@pytest.fixture(name="active")
def _active(monkeypatch):
    """Collect the names of clusters that ran as kernels in the latest step of each function."""
    seen = []
    look = WarmUp._look

    def looked(self, steps):
        look(self, steps)
        seen[:] = [
            name
            for name, one in self._clusters.items()
            if any(form.run is not None for form in one.forms_of_arrays())
        ]

    monkeypatch.setattr(WarmUp, "_look", looked)
    return seen


def _random(*shape, dtype=np.float32):
    return np.random.default_rng(3).normal(size=shape).astype(dtype)


SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 88.8, -104, 3e38, 1, -1], np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chain_of_activations(active, dtype):
    """NaN, infinity, zeros and numbers out of range give what the nodes give."""
    x = np.concatenate([SPECIAL, _random(1000) * 10]).astype(dtype)

    def build(x):
        y = tf.exp(-tf.abs(x)) + tf.tanh(x) * tf.maximum(x, 0.5)
        return [tf.log1p(tf.exp(x) * 0.0 + 1) + y, tf.where(x > 0, tf.square(x), y), tf.sigmoid(x)]

    compare(build, {"x": x})
    assert active


def test_arithmetic_is_equal_bit_for_bit(active):
    """Sums, products, quotients, roots, limits and choices are rounded as NumPy rounds them."""
    feeds = {"x": np.tile(SPECIAL, 9), "y": np.repeat(SPECIAL, 9)}

    def build(x, y):
        return [
            (x + y) * x - y / x,
            tf.sqrt(tf.abs(x)) + tf.floor(y) * 0.1,
            tf.where(tf.logical_and(x < y, y >= 0), tf.minimum(x, y), -x),
            tf.cast(tf.equal(x, y), tf.float32) * tf.sign(x) + tf.pow(y, 3.0),
        ]

    compare(build, feeds, 0, 0)
    assert active


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((5, 7), (7,)), ((5, 7), (5, 1)), ((3, 1, 5), (4, 1)), ((2, 3, 4, 5), (2, 1, 1, 5)),
        ((1, 1), (1,)), ((17,), ()), ((0, 3), (3,)), ((300, 700), (700,)), ((1, 5), (4, 1)),
    ],
)  # fmt: skip
def test_shapes_are_broadcast(first, second):
    """Vectors, columns, numbers, arrays without elements and large arrays."""
    feeds = {"x": _random(*first), "y": _random(*second)}
    compare(lambda x, y: [(x + y) * y - 2.0, (x * y) * (x - y)], feeds, 0, 0)


def test_arrays_with_strides(active):
    """Parts of a split are read where they lie; transposed arrays run node by node."""

    def build(x, y):
        a, b, c = tf.split(x, 3, axis=1)
        t = tf.transpose(y)
        return [tf.sigmoid(a) * tf.tanh(b) + c * 0.5, (t + 1.0) * t]

    compare(build, {"x": _random(6, 12), "y": _random(5, 4)})
    assert len(active) >= 1


@pytest.mark.parametrize("shape", [(300, 2), (6, 10), (3, 4, 2), (5, 1, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_columns_of_a_split(shape, dtype):
    """A last axis of one element has no loop; the elements of the axis before it lie apart."""
    x = (_random(*shape) * 9).astype(dtype)

    def build(x):
        parts = tf.split(x, shape[-1], axis=-1)
        low, high = parts[0], parts[-1]
        return [(high - low) * high + low, tf.maximum(low, high) * 2 - high]

    compare(build, {"x": x}, 0, 0)


def test_rows_of_one_column_in_larger_arrays(active):
    """The innermost loop is the axis before the last one, which is contiguous."""

    def build(x):
        a, b = tf.split(x, 2, axis=1)
        return [(a + b) * a - 2.0]

    compare(build, {"x": _random(5, 14, 1)}, 0, 0)
    assert active


def test_rows_are_chosen_by_a_vector(active):
    """The condition of whole rows runs by itself, and is an input of the kernel."""
    feeds = {"x": _random(6, 5), "y": _random(6, 5), "n": np.arange(6, dtype=np.int32)}

    def build(x, y, n):
        chosen = tf.less(n, 3)
        return [tf.where(chosen, x * 2.0 + y, y), tf.cast(chosen, tf.int32)]

    compare(build, feeds, 0, 0)
    assert active


def test_cells_of_a_loop_are_compiled(active):
    """A recurrent network gives the values of its nodes in each iteration."""
    feeds = {"x": _random(4, 9, 8), "n": np.array([9, 3, 1, 5], np.int32)}

    def build(x, n):
        tf.set_random_seed(1)
        cell = tf.nn.rnn_cell.BasicLSTMCell(16)
        x = tf.ensure_shape(x, [4, 9, 8])
        outputs, state = tf.nn.dynamic_rnn(cell, x, n, dtype=tf.float32)
        return [outputs, *state]

    with tf.Graph().as_default(), tf.Session() as session:
        places = {name: tf.placeholder(one.dtype, name=name) for name, one in feeds.items()}
        fetches = build(**places)
        given = {places[name]: value for name, value in feeds.items()}
        session.run(tf.global_variables_initializer())
        plain = session.run(fetches, given)
        for _ in range(5):
            session.run(fetches, given)
        HELPER.wait()
        for one, other in zip(session.run(fetches, given), plain, strict=True):
            np.testing.assert_allclose(one, other, 1e-5, 1e-6)
    assert active


def test_shapes_that_change_run_node_by_node_until_their_kernel_is_ready():
    """Each step gets the result of its own shapes."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        y = (x + 1.0) * x - 3.0
        for step in range(12):
            value = np.full((2, step % 4 + 1), step, np.float32)
            np.testing.assert_array_equal(session.run(y, {x: value}), (value + 1) * value - 3)
            if step == 6:
                HELPER.wait()


def test_few_cheap_steps_compile_nothing(monkeypatch):
    """The kernel of a graph costs more than its nodes in twenty steps."""
    monkeypatch.setattr(Prices, "of_kernel", 0.06)
    monkeypatch.setattr(Prices, "of_start", 0.3)
    monkeypatch.setattr(Prices, "paid", 0.0)
    requested = []
    monkeypatch.setattr(HELPER, "request", lambda *args: requested.append(args))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        y = tf.tanh(x + 1.0) * x
        for _ in range(20):
            session.run(y, {x: _random(8, 8)})
    assert not requested


@pytest.mark.parametrize(("num_kernels", "is_compiled"), [(1, True), (8, False)])
def test_a_kernel_among_others_of_its_cluster_has_to_be_worth_more(
    monkeypatch, num_kernels, is_compiled
):
    """What gets other shapes from call to call would need a kernel for each of them."""

    class Form:
        def __init__(self, number):
            self.source = str(number)
            self.is_pending = False
            self.others = -1

        def pay(self, steps):
            pass

        def heat(self):
            return 1.0

        def request(self, others):
            self.others = others

        def take(self):
            return False

    forms = [Form(number) for number in range(num_kernels)]
    cluster = CompiledCluster([], [])
    cluster.forms = {form.source: form for form in forms}
    warm_up = WarmUp({"kernel1": None}, {"kernel1": cluster})
    monkeypatch.setattr(Prices, "first_step", 2)
    for _ in range(4):
        warm_up()
    assert {form.others for form in forms} == {num_kernels - 1}

    monkeypatch.setattr(Prices, "of_kernel", 1e-3)
    monkeypatch.setattr(Prices, "of_look", 1e-3)
    monkeypatch.setattr(Prices, "of_start", 0.0)
    monkeypatch.setattr(compiled_clusters, "_heats", {})
    requests = []
    monkeypatch.setattr(
        HELPER,
        "request",
        lambda text, parts, *, pays: requests.append(pays) or CompiledKernel(text, parts, pays),
    )
    form = _form_of_a_sum()
    form.runs = 1
    form.pay(round(2e-3 / form.weight))
    form.request(num_kernels - 1)
    assert requests == [is_compiled]


def _form_of_a_sum():
    device = CpuDevice("/device:CPU:0", 0)
    kernel = create_kernel(op_registry.get("AddV2"), "n", {"T": tf.float32}, device)
    cluster = CompiledCluster([(kernel, (0, 0))], [0])
    cluster.record(True)
    cluster(_random(8))
    return cluster.forms_of_arrays()[0]


def test_long_steps_are_recorded_early(monkeypatch):
    """A few steps that take long suffice; of short ones it takes many."""

    def steps_until_recorded():
        cluster = CompiledCluster([], [])
        warm_up = WarmUp({"kernel1": None}, {"kernel1": cluster})
        for step in range(1, 40):
            warm_up()
            if cluster.records:
                return step
        return None

    monkeypatch.setattr(Prices, "first_step", 32)
    monkeypatch.setattr(Prices, "first_seconds", 1e9)
    assert steps_until_recorded() == 32
    monkeypatch.setattr(Prices, "first_seconds", 0.0)
    assert steps_until_recorded() < 32


def test_a_loop_of_many_shapes_adds_a_few_forms_at_a_time():
    """Sources are not written for each iteration of one step; a later step adds others."""

    class Refuses(CompiledCluster):
        def _add_form(self, key):
            self.forms[key] = None

    cluster = Refuses([], [])
    counts = []
    for _ in range(2):
        cluster.record(True)
        for size in range(50):
            cluster(np.zeros(size))
        counts.append(len(cluster.forms))
    assert 0 < counts[0] < counts[1] < 50


def test_a_kernel_that_fails_leaves_the_nodes(monkeypatch):
    """The step goes on as without compiled kernels."""
    monkeypatch.setattr(
        compiled_clusters, "write_kernel", lambda *args: _broken(*args, write=write_kernel)
    )
    compare(lambda x: [tf.exp(x * 1.25) + 7.0], {"x": _random(33)})


def _broken(*args, write):
    made = write(*args)
    made.text = "no source"
    return made


@pytest.mark.parametrize(
    ("variable", "value"), [("TFNB_COMPILED", "0"), ("TF_DETERMINISTIC_OPS", "1")]
)
def test_switched_off(monkeypatch, variable, value):
    """With TFNB_COMPILED=0 the emitted source has no clusters, nor with deterministic ops."""
    monkeypatch.setenv(variable, value)
    assert "kernel1" not in str(compare(lambda x: [tf.exp(x) * 2.0], {"x": _random(9)}))


def test_errors_are_those_of_the_nodes():
    """Shapes that do not fit raise the node's error, also once the kernel is ready."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        z = tf.multiply(x + y, x, name="product")
        for _ in range(6):
            session.run(z, {x: _random(3, 4), y: _random(4)})
        HELPER.wait()
        session.run(z, {x: _random(3, 4), y: _random(4)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="3,4"):
            session.run(z, {x: _random(3, 4), y: _random(5)})


def test_large_arrays_do_not_depend_on_the_cuts(monkeypatch):
    """Ranges of rows that end anywhere give the same bits."""
    cluster = {}

    def cut(total, least, work, unit=1):
        places = [0, total // 3, total // 3 + 1, total]
        for first, last in itertools.pairwise(places):
            work(first, last)
        cluster["cuts"] = cluster.get("cuts", 0) + 1

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
            z = tf.tanh(x * y + 0.25) * x
            given = {x: _random(301, 600), y: _random(600)}
            for _ in range(5):
                session.run(z, given)
            HELPER.wait()
            return session.run(z, given)

    whole = run()
    monkeypatch.setattr(compiled_clusters, "shard", cut)
    np.testing.assert_array_equal(run(), whole)
    assert cluster["cuts"]


def test_interrupted_look_is_repeated():
    """An interrupt while a step begins leaves the nodes in charge."""

    class Interrupts(CompiledCluster):
        def forms_of_arrays(self):
            raise KeyboardInterrupt

    names = {"kernel1": None}
    warm_up = WarmUp(names, {"kernel1": Interrupts([], [])})
    warm_up()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            warm_up()
    assert names == {"kernel1": None}


# -- every op, against its kernel


def _elementwise_rows():
    """Return the first two stored samples of each op that can be compiled."""
    found = {}
    for name in samples.families():
        for row in samples.family(name):
            definition = op_registry.get(row.op)
            if row.error or not row.values or len(found.get(row.op, ())) > 1:
                continue
            sample = SampleRun(row)
            if any(not isinstance(one, np.ndarray) or one.dtype == object for one in sample.inputs):
                continue
            try:
                bound = create_kernel(definition, "n", sample.attrs, sample.device)
                forms = [(one.dtype, one.shape) for one in sample.inputs]
                source = write_kernel([(bound, range(len(forms)))], forms, [0])
            except (NotElementwise, NotImplementedError, tf.errors.OpError):
                continue
            found.setdefault(row.op, []).append((sample, forms, source))
    return found


ROWS = _elementwise_rows()


@in_batches("op", sorted(ROWS))
def test_the_kernel_gives_what_the_node_gives(op):
    """The stored samples of the op agree within the rounding of exp, tanh and log."""
    for sample, forms, source in ROWS[op]:
        kernel = HELPER.request(source.text, PARTS)
        HELPER.wait()
        assert kernel.addresses, kernel.failure
        call = as_function(kernel.addresses[0], data_of(source, forms, "a" * len(forms)))
        found = np.empty(source.shape, source.dtypes[0])
        inputs = [np.array(one, order="C") for one in sample.inputs]
        assert call(*inputs, found) is found
        (wanted,) = sample.run()
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, 2e-6, 1e-6)


def test_an_interrupt_at_any_moment_lets_the_next_step_look_again():
    """The lock of the looks is free: the count of looks goes on."""
    for number in itertools.count(1):
        warm_up = WarmUp({}, {})
        at = InterruptAt(number, WarmUp)
        with suppress(KeyboardInterrupt), at:
            warm_up()
        before = warm_up._next
        for _ in range(10):
            warm_up()
        assert warm_up._next > before
        if not at.has_raised:
            assert number > 2
            return
