"""Which kernels run in a pool, and that results with and without a pool are equal."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.common_runtime.graph_builder import GraphBuilder, run_executor
from tests.common_runtime.native_ops import registered
from tfnb.common_runtime.device.thread_pool import ThreadPool
from tfnb.common_runtime.executor.immutable_executor_state import POOL
from tfnb.common_runtime.executor.kernel_stats import EXPENSIVE_NS, PoolChoice, with_pool
from tfnb.core import dtypes, errors

INT = dtypes.int32


@pytest.fixture(scope="module")
def pool():
    """A pool of three threads for the tests of this file."""
    made = ThreadPool("test", 3)
    yield made
    made.close()
    assert made.join(60)


def sum_of_two():
    """Return x + y, and its item in the variant that runs with a pool."""
    builder = GraphBuilder()
    x, y = builder.arg("x"), builder.arg("y")
    builder.fetch(builder.node("sum", "Add", x, y, T=INT))
    pooled = with_pool(builder.executor())
    return pooled, next(item for item in pooled.items if item.name == "sum")


def test_a_kernel_is_expensive_until_it_was_measured():
    """After the first measurement the running average decides."""
    pooled, item = sum_of_two()
    stats = pooled.kernel_stats
    assert stats.is_expensive(item)
    assert stats.estimate_ns(item) is None
    stats.update(item, 10)
    assert not stats.is_expensive(item)
    assert stats.estimate_ns(item) == 10
    for _ in range(8):
        stats.update(item, 4 * EXPENSIVE_NS)
    assert stats.is_expensive(item)


def test_an_op_may_say_what_its_kernel_costs():
    """An op may declare that its kernel always runs in the pool, or never."""
    for says in (True, False):
        with registered("TestSays", "x: int32 -> y: int32", lambda xp, x: x, expensive=says):
            builder = GraphBuilder()
            builder.fetch(builder.node("says", "TestSays", builder.arg("x")))
            pooled = with_pool(builder.executor())
            if not says:
                assert pooled is None
                continue
            item = next(item for item in pooled.items if item.name == "says")
            pooled.kernel_stats.update(item, 1)
            assert pooled.kernel_stats.is_expensive(item)


def test_what_touches_a_resource_stays_with_the_driving_thread():
    """So do transfers and control-flow nodes."""
    with (
        registered("TestPoolHandle", "-> h: resource", lambda xp: None),
        registered("TestUse", "h: resource ->", lambda xp, h: None),
        registered("TestRef", "r: Ref(int32) -> y: int32", lambda xp, r: r.value),
    ):
        builder = GraphBuilder()
        builder.node("use", "TestUse", builder.node("handle", "TestPoolHandle"))
        builder.node("ref", "TestRef", builder.arg("cell", dtypes.int32_ref))
        start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
        builder.counting_loop(start, limit, one)
        pooled = with_pool(builder.executor())
        plain = builder.executor()
    differing = [a.name for a, b in zip(pooled.items, plain.items) if a.action != b.action]
    assert sorted(differing) == ["loop/add", "loop/less"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Add", "Sub", "Mul", "Maximum", "FloorDiv"]),
            st.integers(0, 40),
            st.integers(0, 40),
        ),
        min_size=1,
        max_size=40,
    ),
    st.integers(-5, 5),
    st.integers(1, 5),
)
def test_random_graphs_give_the_same_with_and_without_a_pool(pool, ops, x, y):
    """Random graphs of integer ops, with a zero divisor, are compared."""
    builder = GraphBuilder()
    nodes = [builder.arg("x"), builder.arg("y")]
    for position, (op, a, b) in enumerate(ops):
        inputs = nodes[a % len(nodes)], nodes[b % len(nodes)]
        nodes.append(builder.node(f"n{position}", op, *inputs, T=INT))
    for one in nodes[2:]:
        builder.fetch(one)
    immutable = builder.executor()
    answers = []
    for used in (None, pool):
        try:
            answers.append(run_executor(immutable, (x, y), builder.num_retvals, pool=used))
        except errors.OpError as error:
            answers.append((type(error), error.message))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("parallel", [1, 3])
def test_loops_count_with_a_pool(pool, parallel):
    """Only the driving thread changes frames, whichever thread computes."""
    builder = GraphBuilder()
    start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
    outer = builder.counting_loop(start, limit, one, "first", parallel)
    builder.fetch(builder.counting_loop(start, outer, one, "second", parallel))
    assert run_executor(builder.executor(), (0, 20, 1), 1, pool=pool) == [20]


def test_a_long_chain_and_a_wide_fan_do_not_recurse(pool):
    """Each node runs in the pool the first time."""
    builder = GraphBuilder()
    x = builder.arg("x")
    last = x
    for position in range(3000):
        last = builder.node(f"chain{position}", "Add", last, x, T=INT)
    fan = [builder.node(f"fan{position}", "Add", last, x, T=INT) for position in range(1000)]
    for one in fan:
        builder.fetch(one)
    assert run_executor(builder.executor(), (1,), 1000, pool=pool) == [3002] * 1000


def test_kernels_of_one_step_run_at_the_same_time(pool):
    """Two nodes that wait for each other end, which one thread could not achieve."""
    barrier = threading.Barrier(2)

    def meet(xp, x):
        barrier.wait(60)
        return x

    with registered("TestMeet", "x: int32 -> y: int32", meet):
        builder = GraphBuilder()
        x = builder.arg("x")
        for name in ("a", "b"):
            builder.fetch(builder.node(name, "TestMeet", x))
        assert run_executor(builder.executor(), (7,), 2, pool=pool) == [7, 7]


def test_answers_are_taken_while_cheap_nodes_go_round(pool):
    """The loop ends only after a node that follows one in the pool."""
    flag = threading.Event()

    def slow(xp, x):
        return x

    def tell(xp, x):
        flag.set()
        return x

    with (
        registered("TestSlow", "x: int32 -> y: int32", slow, expensive=True),
        registered("TestTell", "x: int32 -> y: int32", tell, expensive=False),
        registered("TestAsk", "x: int32 -> y: bool", lambda xp, x: np.bool_(not flag.is_set())),
    ):
        builder = GraphBuilder()
        x = builder.arg("x")
        builder.fetch(builder.node("tell", "TestTell", builder.node("slow", "TestSlow", x)))
        enter = builder.node(
            "enter", "Enter", x, T=INT, frame_name=b"f", parallel_iterations=1, is_constant=False
        )
        merge = builder.node("merge", "Merge", enter, None, T=INT, N=2)
        cond = builder.node("cond", "LoopCond", builder.node("ask", "TestAsk", merge))
        switch = builder.node("switch", "Switch", merge, cond, T=INT)
        builder.connect(builder.node("next", "NextIteration", (switch, 1), T=INT), merge, 1)
        builder.fetch(builder.node("exit", "Exit", (switch, 0), T=INT))
        assert run_executor(builder.executor(), (5,), 2, pool=pool) == [5, 5]


def one_sum():
    """Return a runner of x + x, and the choice of the way."""
    builder = GraphBuilder()
    x = builder.arg("x")
    builder.fetch(builder.node("sum", "Add", x, x, T=INT))
    plain = [builder.executor()]
    return plain, PoolChoice(plain)


def run_steps(plain, choice, count, pooled_ns, plain_ns, *, overlaps):
    """Run n steps of a given length; return which of them used the pool."""
    with_the_pool = []
    for _ in range(count):
        states = choice.choose()
        is_pooled = states is not plain
        with_the_pool.append(is_pooled)
        if is_pooled and overlaps:
            states[0].kernel_stats.has_overlap = True
        choice.took(states, pooled_ns if is_pooled else plain_ns)
    return with_the_pool


TRIAL = [True] * 4 + [False] * 4


def test_a_signature_keeps_to_the_pool_where_that_is_faster():
    """Both ways are timed; after growing pauses they are timed again."""
    plain, choice = one_sum()
    found = run_steps(plain, choice, 500, 10, 20, overlaps=True)
    assert found[:8] == TRIAL
    assert [i for i, is_pooled in enumerate(found) if not is_pooled] == [
        *(4, 5, 6, 7),
        *(77, 78, 79, 80),
        *(214, 215, 216, 217),
        *(479, 480, 481, 482),
    ]


@pytest.mark.parametrize(("pooled_ns", "overlaps"), [(30, True), (10, False)])
def test_a_signature_that_gains_nothing_runs_without_the_pool(pooled_ns, overlaps):
    """The pool was slower, or no two kernels ran at the same time."""
    plain, choice = one_sum()
    found = run_steps(plain, choice, 70, pooled_ns, 20, overlaps=overlaps)
    assert found == TRIAL + [False] * 62


def test_a_signature_may_change_its_choice():
    """Larger feeds change the choice."""
    plain, choice = one_sum()
    assert not run_steps(plain, choice, 73, 30, 20, overlaps=True)[-1]
    assert run_steps(plain, choice, 20, 30, 90, overlaps=True)[-1]


def test_a_cheap_kernel_gets_its_plain_action_back():
    """The kernel is measured again when the signature is tried again."""
    pooled, item = sum_of_two()
    plain_action = item.action
    assert plain_action == POOL
    pooled.kernel_stats.update(item, 10)
    assert item.action != POOL
    pooled.kernel_stats.rearm(pooled.items)
    assert item.action == POOL


def test_an_op_that_is_always_expensive_keeps_its_signature_with_the_pool():
    """No trial takes place, because the kernel may have to wait."""
    with registered("TestAlways", "x: int32 -> y: int32", lambda xp, x: x, expensive=True):
        builder = GraphBuilder()
        builder.fetch(builder.node("n", "TestAlways", builder.arg("x")))
        plain = [builder.executor()]
        choice = PoolChoice(plain)
        assert all(run_steps(plain, choice, 100, 30, 20, overlaps=False))


def test_a_partition_of_nothing_to_compute_has_no_variant():
    """A partition with only arguments and results has no variant."""
    builder = GraphBuilder()
    builder.fetch(builder.arg("x"))
    plain = [builder.executor()]
    assert with_pool(plain[0]) is None
    assert PoolChoice(plain).choose() is plain
