"""Random programs of branches, loops and calls give equal results in all ways to run them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tfnb as tf
from tests.client.session.test_interrupt_anywhere import interrupted_at
from tests.common_runtime.functions.function_programs import evaluate, graph_of

_LEAVES = st.one_of(
    st.tuples(st.just("add"), st.integers(-3, 3)),
    st.just(("swap",)),
    st.just(("effect",)),
    st.just(("read",)),
)


def _statements(inner: Any) -> Any:
    block = st.lists(inner, max_size=3)
    return st.one_of(
        st.tuples(st.just("if"), block, block),
        st.tuples(st.just("case"), st.lists(block, min_size=1, max_size=3)),
        st.tuples(st.just("while"), st.integers(0, 3), block),
        st.tuples(st.just("partitioned"), block),
        st.tuples(st.just("direct"), block),
    )


PROGRAMS = st.lists(st.recursive(_LEAVES, _statements, max_leaves=8), min_size=1, max_size=4)


def config(way: str) -> tf.ConfigProto:
    """Return a configuration: all calls kept, all inlined, or the default."""
    found = tf.ConfigProto(operation_timeout_in_ms=60_000)
    switches = found.graph_options.optimizer_options
    if way != "default":
        switches.opt_level = tf.OptimizerOptions.L0
    switches.do_function_inlining = way == "inlined"
    found.graph_options.place_pruned_graph = way == "pruned"
    return found


def check(program: list[Any], a: int, b: int, way: str, lower: bool) -> None:
    """Runs a program twice and compares results and the variable."""
    variable = [0]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_of(program, lower=lower), name="")
        with tf.Session(graph=graph, config=config(way)) as session:
            session.run("init")
            for _ in range(2):
                want = evaluate(program, a, b, variable)
                found = session.run(
                    ["a_out:0", "b_out:0"], {"a:0": np.int32(a), "b:0": np.int32(b)}
                )
                assert (tuple(map(int, found)), int(session.run("value:0"))) == (want, variable[0])


WAYS = [
    (way, lower) for way in ("calls", "inlined", "default", "pruned") for lower in (True, False)
]

# Programs that failed once, or are likely to fail.
KNOWN = [
    [("if", [("effect",)], [])],
    [("while", 2, [("effect",)])],
    [("while", 3, [("while", 2, [("effect",), ("add", 1)])])],
    [("direct", [("effect",)]), ("read",)],
    [("partitioned", [("if", [("effect",)], [("swap",)])]), ("read",)],
    [("case", [[("effect",)], [("add", 2), ("effect",)]]), ("read",)],
    [("case", [[("case", [[], [("effect",)]])]])],
    [("case", [[("case", [[("effect",)], [], [("add", 1)]]), ("effect",)], [("add", 2)]])],
    [("if", [("while", 2, [("partitioned", [("effect",), ("read",)])])], [("direct", [])])],
]


@pytest.mark.parametrize(("way", "lower"), WAYS)
@pytest.mark.parametrize("program", KNOWN, ids=str)
def test_effects_happen_in_time_however_a_program_is_run(program, way, lower):
    """Results follow the effects of the functions that computed them."""
    for a, b in ((2, 1), (0, 1)):
        check(program, a, b, way, lower)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "lower"), WAYS)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(program=PROGRAMS, a=st.integers(-3, 3), b=st.integers(-3, 3))
def test_random_programs_give_the_same_however_they_are_run(way, lower, program, a, b):
    """Calls kept, inlined, lowered or not: results equal those of Python."""
    check(program, a, b, way, lower)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["calls", "default", "pruned"])
def test_an_interrupt_at_any_moment_leaves_functions_usable(way):
    """Interrupts strike lowering, placement, instantiation and the run."""
    program = [
        ("if", [("effect",)], [("swap",)]),
        ("direct", [("while", 2, [("partitioned", [("effect",), ("read",)])])]),
        ("read",),
    ]
    feeds = {"a:0": np.int32(2), "b:0": np.int32(1)}
    want = evaluate(program, 2, 1, [0])
    number, was_interrupted = 1, True
    while was_interrupted:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_of(program, lower=True), name="")
            with tf.Session(graph=graph, config=config(way)) as session:
                session.run("init")
                was_interrupted = interrupted_at(
                    number, lambda session=session: session.run(["a_out:0", "b_out:0"], feeds)
                )
                session.run("init")
                assert tuple(map(int, session.run(["a_out:0", "b_out:0"], feeds))) == want
                assert session.runtime.active_steps() == []
        number = int(number * 1.4) + 1
