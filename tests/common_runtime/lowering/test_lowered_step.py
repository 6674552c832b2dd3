"""The lowered function gives what the reference gives: values, errors, variable states."""

from __future__ import annotations

import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.common_runtime.graph_builder import GraphBuilder, run_executor
from tests.common_runtime.graph_defs import binary, const, node, placeholder, session
from tfnb.common_runtime.lowering.run.step_way import lower
from tfnb.core import dtypes, errors
from tfnb.core.step_events import StepObserver

INT = dtypes.int32


def both_ways(builder, *args):
    """Return the answers of the reference and of the lowered function."""
    immutable = builder.executor()
    reference = run_executor(immutable, args, builder.num_retvals)
    immutable.warm_up.lowered = lower(immutable)
    return reference, run_executor(immutable, args, builder.num_retvals)


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
def test_random_graphs_give_the_same_values_and_errors(ops, x, y):
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
    for lowered in (None, lower(immutable)):
        immutable.warm_up.lowered = lowered
        try:
            answers.append(run_executor(immutable, (x, y), builder.num_retvals))
        except errors.OpError as error:
            answers.append((type(error), error.node_name, error.message))
    assert answers[0] == answers[1]


def test_a_node_with_several_outputs_and_an_unused_one():
    """One half of a split is used."""
    builder = GraphBuilder()
    x = builder.arg("x")
    zero = builder.arg("zero")
    split = builder.node("split", "Split", zero, x, T=INT, num_split=2)
    builder.fetch((split, 1))
    reference, lowered = both_ways(builder, np.array([1, 2, 3, 4], np.int32), 0)
    assert reference[0].tolist() == lowered[0].tolist() == [3, 4]


def test_calls_are_written_out_with_lists_and_attributes():
    """Lists and attributes of a kernel stand in its call.

    Attributes other than numbers have names.
    """
    builder = GraphBuilder()
    x, y, axis = builder.arg("x"), builder.arg("y"), builder.arg("axis")
    joined = builder.node("joined", "ConcatV2", x, y, x, axis, T=INT, N=3, Tidx=INT)
    builder.fetch(builder.node("total", "Sum", joined, axis, T=INT, Tidx=INT, keep_dims=True))
    args = np.array([1, 2], np.int32), np.array([4], np.int32), 0
    reference, lowered = both_ways(builder, *args)
    assert reference[0].tolist() == lowered[0].tolist() == [10]
    immutable = builder.executor()
    lines = {line.split("#")[-1]: line for line in lower(immutable).source.split("\n")}
    assert "[v0, v1, v0]" in lines[" 'joined' (ConcatV2)"]
    assert "keep_dims=True" in lines[" 'total' (Sum)"]


def test_a_name_cannot_leave_its_comment():
    """Each node is one line of the source, whatever its name contains."""
    builder = GraphBuilder()
    x = builder.arg("x")
    odd = builder.node("a\n    raise SystemExit #", "Add", x, x, T=INT)
    builder.fetch(odd)
    immutable = builder.executor()
    lowered = lower(immutable)
    assert "raise SystemExit #'" in lowered.source
    assert not any(
        line.strip().startswith("raise SystemExit") for line in lowered.source.split("\n")
    )
    immutable.warm_up.lowered = lowered
    assert run_executor(immutable, (4,), 1) == [8]


def quotient():
    """p // q."""
    return session(
        placeholder("p", INT), placeholder("q", INT), binary("d", "FloorDiv", "p", "q", INT)
    )


def test_a_signature_is_lowered_when_it_runs_again():
    """The second run writes the function, the third uses it."""
    native = quotient()
    executor = native.prepare(("p:0", "q:0"), ("d:0",), ()).executors.items[0].executor
    lowered = []
    for _ in range(3):
        assert native.run({"p:0": np.int32(7), "q:0": np.int32(2)}, ["d:0"], []) == [3]
        lowered.append(executor.warm_up.lowered is not None)
    assert lowered == [False, True, True]


def test_an_error_in_the_function_names_its_node_and_shows_its_line():
    """The traceback has the emitted line; the error has the reference's class."""
    native = quotient()
    for _ in range(3):
        native.run({"p:0": np.int32(7), "q:0": np.int32(2)}, ["d:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match="division by zero") as caught:
        native.run({"p:0": np.int32(7), "q:0": np.int32(0)}, ["d:0"], [])
    assert caught.value.node_name == "d"
    assert "# 'd' (FloorDiv)" in "".join(traceback.format_tb(caught.tb))
    assert native.run({"p:0": np.int32(7), "q:0": np.int32(2)}, ["d:0"], []) == [3]


def test_a_watched_step_runs_on_the_reference():
    """An observer receives every node of a signature that was lowered before."""

    class Heard(StepObserver):
        """Counts nodes."""

        count = 0

        def node_done(self, *args):
            """Count."""
            self.count += 1

    native, heard = quotient(), Heard()
    feeds = {"p:0": np.int32(7), "q:0": np.int32(2)}
    for _ in range(3):
        native.run(feeds, ["d:0"], [])
    native.step_events.add(heard)
    native.run(feeds, ["d:0"], [])
    assert heard.count == 4
    native.step_events.remove(heard)
    native.run(feeds, ["d:0"], [])
    assert heard.count == 4


def test_reference_variables_are_read_and_written_alike():
    """v += 1 in three runs: reference, writing, lowered.

    An uninitialized variable fails each time.
    """
    native = session(
        node("v", "VariableV2", dtype=dtypes.float32, shape=dtypes_shape([2])),
        const("start", [1.0, 2.0]),
        const("one", [1.0, 1.0]),
        node("init", "Assign", "v", "start", T=dtypes.float32),
        node("add", "AssignAdd", "v", "one", T=dtypes.float32),
        binary("twice", "Add", "v", "v"),
    )
    for _ in range(3):
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v"):
            native.run({}, ["twice:0"], [])
    native.run({}, [], ["init"])
    for step in range(1, 5):
        assert native.run({}, ["add:0"], [])[0].tolist() == [1.0 + step, 2.0 + step]
        assert native.run({}, ["twice:0"], [])[0].tolist() == [2.0 + 2 * step, 4.0 + 2 * step]


def dtypes_shape(sizes):
    """Return a shape attribute."""
    from tfnb.core.tensor_shape import TensorShape

    return TensorShape(sizes)
