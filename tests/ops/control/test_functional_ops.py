"""Nodes that call functions of the graph's library: calls, branches, loops."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.core.attr_value import NameAttrList
from tfnb.framework.functions.function import Defun
from tfnb.ops.control import functional_ops
from tfnb.proto import graph_pb2


def _function(name: str, args: str, results: str, nodes: str, returns: str) -> str:
    """Return a function of one-line nodes: "name Op input input"."""
    text = f'function {{ signature {{ name: "{name}"'
    for kind, listed in (("input_arg", args), ("output_arg", results)):
        for entry in listed.split():
            arg, dtype = entry.split(":")
            text += f' {kind} {{ name: "{arg}" type: {dtype} }}'
    text += " }"
    for line in nodes.strip().splitlines():
        node, op, dtype, *inputs = line.split()
        text += f' node_def {{ name: "{node}" op: "{op}"'
        text += "".join(f' input: "{one}"' for one in inputs)
        text += f' attr {{ key: "T" value {{ type: {dtype} }} }} }}'
    for entry in returns.split():
        result, source = entry.split("=")
        text += f' ret {{ key: "{result}" value: "{source}" }}'
    return text + " }"


_F = "DT_FLOAT"
_LIBRARY = "\n".join(
    [
        _function("Double", f"x:{_F}", f"y:{_F}", f"add AddV2 {_F} x x", "y=add:z:0"),
        _function("SquareOf", f"x:{_F}", f"y:{_F}", f"mul Mul {_F} x x", "y=mul:z:0"),
        _function(
            "IsBelow", f"x:{_F} limit:{_F}", "p:DT_BOOL", f"lt Less {_F} x limit", "p=lt:z:0"
        ),
        _function(
            "Step",
            f"x:{_F} limit:{_F}",
            f"y:{_F} same:{_F}",
            f"add AddV2 {_F} x x",
            "y=add:z:0 same=limit",
        ),
        _function("Two", f"x:{_F}", f"y:{_F} z:{_F}", f"add AddV2 {_F} x x", "y=add:z:0 z=x"),
        _function(
            "Count",
            "i:DT_INT32 total:DT_INT32",
            "sum:DT_INT32",
            "add AddV2 DT_INT32 total i",
            "sum=add:z:0",
        ),
        _function("Forever", f"x:{_F}", "p:DT_BOOL", f"eq Equal {_F} x x", "p=eq:z:0"),
    ]
)


def _named(name: str) -> NameAttrList:
    return NameAttrList(name, {})


@pytest.fixture
def graph():
    """A graph with the functions."""
    graph_def = text_format.Parse(
        f"library {{ {_LIBRARY} }} versions {{ producer: 21 }}", graph_pb2.GraphDef()
    )
    with tf.Graph().as_default() as found:
        tf.import_graph_def(graph_def, name="")
        yield found


def test_a_call_gives_the_functions_results(graph):
    """Functions with and without effects are called."""
    x = tf.constant(3.0)
    with tf.Session() as session:
        for build in (
            functional_ops.partitioned_call,
            functional_ops.stateful_partitioned_call,
        ):
            called = build([x], Tout=[tf.float32, tf.float32], f=_named("Two"))
            assert session.run(called) == [6.0, 3.0]


@pytest.mark.parametrize(
    ("cond", "want"),
    [(True, 6.0), (False, 9.0), (2, 6.0), (0, 9.0), (0.5, 6.0), ("a", 6.0), ("", 9.0)],
)
def test_if_takes_a_branch_by_what_the_condition_is_worth(graph, cond, want):
    """Numbers are true unless 0, strings unless empty."""
    with tf.Session() as session:
        for build in (functional_ops.if_, functional_ops.stateless_if, functional_ops._if):
            (result,) = build(
                tf.constant(cond),
                [tf.constant(3.0)],
                Tout=[tf.float32],
                then_branch=_named("Double"),
                else_branch=_named("SquareOf"),
                name="choice",
            )
            assert session.run(result) == want


def test_a_tensor_as_condition_holds_if_it_has_elements(graph):
    """The values of its elements do not matter."""
    with tf.Session() as session:
        for cond, want in (([0], 6.0), (np.zeros(0, np.int32), 9.0)):
            (result,) = functional_ops.if_(
                tf.constant(cond),
                [tf.constant(3.0)],
                Tout=[tf.float32],
                then_branch=_named("Double"),
                else_branch=_named("SquareOf"),
            )
            assert session.run(result) == want


def test_case_takes_the_last_branch_for_numbers_out_of_range(graph):
    """Negative numbers select the last branch, too."""
    index = tf.placeholder(tf.int32, [])
    with tf.Session() as session:
        for build in (functional_ops.case, functional_ops.stateless_case):
            (result,) = build(
                index,
                [tf.constant(3.0)],
                Tout=[tf.float32],
                branches=[_named("Double"), _named("SquareOf")],
            )
            found = [float(session.run(result, {index: value})) for value in (0, 1, 2, -1)]
            assert found == [6.0, 9.0, 9.0, 9.0]


def test_while_runs_its_body_as_long_as_the_condition_holds(graph):
    """The loop doubles up to a limit, or does not run if the condition is false at first."""
    start = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        for build in (
            functional_ops.while_,
            functional_ops.stateless_while,
            functional_ops._while,
        ):
            result = build([start, 100.0], cond=_named("IsBelow"), body=_named("Step"), name="loop")
            assert session.run(result, {start: 3.0}) == [192.0, 100.0]
            assert session.run(result, {start: 300.0}) == [300.0, 100.0]


def test_for_gives_its_body_the_numbers(graph):
    """The steps are delta, without the limit."""
    with tf.Session() as session:
        for bounds, want in (((0, 5, 1), 10), ((5, 0, -2), 9), ((3, 3, 1), 0)):
            (result,) = functional_ops.for_(*bounds, [tf.constant(0)], body=_named("Count"))
            assert session.run(result) == want
        (bad,) = functional_ops.for_(0, 3, 0, [tf.constant(0)], body=_named("Count"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid start/limit/delta: 0 3"):
            session.run(bad)


def test_shapes_may_be_declared(graph):
    """output_shapes gives known shapes, one per output."""
    arguments = {"Tout": [tf.float32], "then_branch": _named("Double")}
    (result,) = functional_ops.if_(
        True, [1.0], else_branch=_named("SquareOf"), output_shapes=[[2]], **arguments
    )
    assert result.shape.as_list() == [2]
    with pytest.raises(ValueError, match="must be the same length as num outputs"):
        functional_ops.if_(
            True, [1.0], else_branch=_named("SquareOf"), output_shapes=[[2], []], **arguments
        )
    first, second = functional_ops.while_(
        [tf.constant([1.0]), 2.0], cond=_named("IsBelow"), body=_named("Step")
    )
    assert (first.shape.as_list(), second.shape.as_list()) == ([1], [])


def test_an_unknown_function_is_named(graph):
    """The error names the missing function."""
    (result,) = functional_ops.partitioned_call([1.0], Tout=[tf.float32], f=_named("Nothing"))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Nothing"):
        session.run(result)


def test_a_loop_ends_when_its_session_is_closed(graph):
    """An endless While is cancelled between two iterations."""
    (result,) = functional_ops.while_([1.0], cond=_named("Forever"), body=_named("Double"))
    session = tf.Session()
    session.run(tf.constant(0))
    failed: list[Exception] = []
    inside = threading.Event()

    def run() -> None:
        inside.set()
        try:
            session.run(result)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    inside.wait(60)
    session.close()
    thread.join(60)
    assert not thread.is_alive()
    assert isinstance(failed[0], (tf.errors.CancelledError, RuntimeError))


def test_small_ops_beside():
    """ToBool, FakeParam and DeviceIndex are tested."""
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(functional_ops.to_bool(tf.constant([1, 2])))
        assert session.run(functional_ops.fake_param(dtype=tf.float32, shape=[2])).shape == (2,)
        assert session.run(functional_ops.device_index(device_names=["GPU", "CPU"])) == 1
        assert session.run(functional_ops.device_index(device_names=["GPU"])) == 1


def test_a_function_is_mapped_over_the_rows_of_its_arguments():
    """No rows give no rows; the declared shapes of results are checked."""
    with tf.Graph().as_default(), tf.Session() as session:

        @Defun(tf.float32, tf.float32)
        def both(a, b):
            return a * b, tf.stack([a, b])

        x = tf.placeholder(tf.float32, [None])

        def mapped(*shapes):
            return tf.raw_ops.MapDefun(
                arguments=[x],
                captured_inputs=[tf.constant(3.0)],
                output_types=[tf.float32, tf.float32],
                output_shapes=list(shapes),
                f=both,
            )

        product, pair = mapped([], [2])
        assert pair.shape.as_list() == [None, 2]
        found = session.run([product, pair], {x: [1.0, 2.0]})
        assert [value.tolist() for value in found] == [[3.0, 6.0], [[1.0, 3.0], [2.0, 3.0]]]
        assert session.run(pair, {x: []}).shape == (0, 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape, \[2\], and expected"):
            session.run(mapped([], [3]), {x: [1.0]})
        with pytest.raises(tf.errors.InternalError, match="no rows"):
            session.run(mapped([], None), {x: []})
        with pytest.raises(ValueError, match="rank at least 1"):
            tf.raw_ops.MapDefun(
                arguments=[tf.constant(1.0), tf.constant([1.0])],
                captured_inputs=[],
                output_types=[tf.float32, tf.float32],
                output_shapes=[[], [2]],
                f=both,
            )


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (([0], 10, 1), r"start must be a scalar, but \[1\]"),
        ((0, [[10]], 1), r"limit must be a scalar, but \[1, 1\]"),
        ((0, 10, -1), "Invalid start/limit/delta: 0 10 -1"),
        ((10, 0, 0), "Invalid start/limit/delta: 10 0 0"),
    ],
)
def test_a_for_loop_with_invalid_bounds_is_refused(
    bounds: tuple[object, ...], message: str
) -> None:
    """The bounds are scalars, and the step goes from the first to the last."""

    @Defun(tf.int32, tf.float32)
    def body(number: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
        return tf.cast(number, tf.float32) + total

    with tf.Graph().as_default(), tf.Session() as session:
        start, limit, delta = bounds
        body.add_to_graph(tf.get_default_graph())
        (total,) = functional_ops.for_(start, limit, delta, [0.0], body=_named(body.name))
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(total)
