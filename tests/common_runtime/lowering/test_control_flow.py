"""Loops and conds as emitted functions: their source, and the results of the reference executor."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.common_runtime.graph_builder import GraphBuilder, run_executor
from tests.time_outs import message_of_time_out
from tfnb.common_runtime.lowering.run.step_way import Lowering, lower, lowering
from tfnb.core.attr_value import NameAttrList
from tfnb.framework.functions import function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@pytest.fixture
def graph():
    """An empty default graph."""
    with tf.Graph().as_default() as found:
        yield found


def sources(session: Any) -> list[str]:
    """Return the emitted functions of the session's signatures."""
    found = []
    for executors in {
        id(e.executors): e.executors for e in native(session)._executors.values()
    }.values():
        states = list(executors.states) if executors.alone is None else [executors.alone]
        found += [
            state.warm_up.lowered.source for state in states if state.warm_up.lowered is not None
        ]
    return found


def native(session: Any) -> Any:
    """Return the session of the runtime."""
    return session.runtime


def both_ways(
    build: Callable[[], tuple[Any, Any]], feeds: Sequence[Any], config: Any = None
) -> str:
    """Run what ``build`` makes, (fetches, placeholder), both ways; return the source."""
    answers, source = [], ""
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            fetches, placeholder = build()
            with tf.Session(config=config) as session:
                found = []
                for value in feeds:
                    try:
                        values = session.run(fetches, {placeholder: value})
                        found.append([(x.dtype, x.shape, x.tobytes()) for x in values])
                    except tf.errors.OpError as error:
                        found.append(
                            (type(error), error.message, error.node_def and error.node_def.name)
                        )
                answers.append(found)
                source = "".join(sources(session))
    assert answers[0] == answers[1]
    assert source
    return source


def test_a_loop_over_scalars_is_a_python_loop():
    """Counter and condition are Python operators; constants stand outside of the loop."""

    def build():
        n = tf.placeholder(tf.int32, [])
        return tf.while_loop(lambda i, x: i < n, lambda i, x: [i + 1, x * 1.5], [0, 1.0]), n

    source = both_ways(build, [0, 1, 7])
    assert "for turn1 in count():" in source
    assert " = v0 < " not in source
    assert "context(" not in source
    assert "k" not in {word[0] for word in source.split() if word.endswith(")") and "(" in word}


def test_a_cond_in_a_loop_is_an_if():
    """Each branch runs in its iterations."""

    def build():
        n = tf.placeholder(tf.int32, [])

        def body(i, x):
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: x + 1.0, lambda: x * 0.5)

        return tf.while_loop(lambda i, x: i < n, body, [0, 0.0]), n

    source = both_ways(build, [0, 5, 6])
    assert source.count("if v") >= 1
    assert "else:" in source


def test_loops_in_each_other_with_their_gradient():
    """Stacks of gradients, loops in conds and conds in loops give equal results."""

    def build():
        x = tf.placeholder(tf.float32, [None])

        def inner(y):
            return tf.while_loop(lambda j, y: j < 2, lambda j, y: [j + 1, y * x], [0, y])[1]

        def body(i, y):
            return i + 1, tf.cond(tf.reduce_sum(y) < 50.0, lambda: inner(y), lambda: y - x)

        y = tf.while_loop(lambda i, y: i < 4, body, [0, x])[1]
        return [y, *tf.gradients(tf.reduce_sum(y * y), x)], x

    both_ways(build, [[1.0, 2.0], [3.0], []])


def test_map_and_scan_and_tensor_arrays():
    """Loops pass TensorArrays as handles."""

    def build():
        x = tf.placeholder(tf.float32, [None])
        squares = tf.map_fn(lambda v: v * v, x)
        sums = tf.scan(lambda a, v: a + v, squares)
        return [squares, sums, *tf.gradients(sums, x)], x

    both_ways(build, [[1.0, 2.0, 3.0], [4.0]])


def test_an_error_in_a_loop_names_its_node():
    """Class, text and node of an error are the reference's, for expressions and for kernels."""

    def build():
        x = tf.placeholder(tf.int32, [])
        loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1 + 6 // (x - i), [0])
        return [tf.identity(loop)], x

    both_ways(build, [1, 9, 0])


def test_an_assertion_in_a_branch_fails_only_there():
    """Assert is a cond, so it fails only in its branch."""

    def build():
        x = tf.placeholder(tf.int32, [])

        def checked():
            with tf.control_dependencies([tf.Assert(x < 5, [x])]):
                return tf.identity(x)

        return [tf.cond(x > 2, checked, lambda: x * 10)], x

    both_ways(build, [1, 3, 7])


def test_a_dead_fetch_is_refused_in_the_references_words():
    """The error of a dead fetch names the Switch."""

    def build():
        x = tf.placeholder(tf.float32, [])
        _, true = tf.raw_ops.Switch(data=x, pred=x > 0.0)
        return [true * 2.0], x

    both_ways(build, [1.0, -1.0, 2.0])


def test_a_predicate_that_is_no_scalar_is_refused():
    """A predicate that is not a scalar is refused by the Switch."""

    def build():
        x = tf.placeholder(tf.bool, None)
        false, true = tf.raw_ops.Switch(data=tf.constant(1.0), pred=x)
        return [tf.raw_ops.Merge(inputs=[false + 1.0, true]).output], x

    both_ways(build, [True, [True], [[False, True]], False])


def test_scalars_and_arrays_take_functions_of_their_own(graph):
    """Code for scalars is not run on arrays."""
    x = tf.placeholder(tf.float32, None)
    y = tf.maximum(x, 0.0)
    with tf.Session() as session:
        for value in (1.0, -1.0, [1.0, -1.0], -2.0, [[3.0]], 4.0):
            assert np.array_equal(session.run(y, {x: value}), np.maximum(value, 0))
        assert " if " in "".join(sources(session)) or "k" in "".join(sources(session))


def test_partitions_on_cpu_devices_become_one_function(graph):
    """A chain across two devices, a loop across both, and an error on the second are compared."""

    def build():
        x = tf.placeholder(tf.int32, [])
        with tf.device("/cpu:1"):
            y = x * 2

        def body(i, s):
            with tf.device("/cpu:1"):
                s = s + i
            return i + 1, s

        loop = tf.while_loop(lambda i, s: i < x, body, [0, y])
        with tf.device("/cpu:1"):
            z = 12 // (loop[1] - 4)
        return [*loop, z], x

    config = tf.ConfigProto(device_count={"CPU": 2})
    source = both_ways(build, [3, 1, 2, 0], config)
    assert "_Send" not in source.replace("(_Recv)", "")
    assert "for turn1 in count():" in source


def test_partitions_become_one_in_their_second_run(graph):
    """Partitions join in the second run, and run separately under an observer of nodes."""
    x = tf.placeholder(tf.float32, [])
    with tf.device("/cpu:1"):
        y = x + 1.0
    with tf.device("/cpu:0"):
        z = y * 2.0
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(z, {x: 1.0}) == 4.0
        assert not sources(session)
        assert session.run(z, {x: 2.0}) == 6.0
        assert len(sources(session)) == 1
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(z, {x: 3.0}, options, metadata) == 8.0
        assert len(metadata.step_stats.dev_stats) == 2


def test_a_loop_is_ended_by_its_deadline_and_says_where_it_was(graph):
    """The loop checks for the end of the step in every iteration, and the error names it."""
    loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [0])
    words = "frame 'while/while_context' is in iteration "
    with tf.Session() as session:
        assert words in message_of_time_out(
            lambda limit: session.run(loop, options=tf.RunOptions(timeout_in_ms=limit)), words
        )


def test_an_emitted_loop_is_ended_by_close(graph):
    """Another thread closes the session."""
    started = threading.Event()

    def tell(i):
        started.set()
        return i

    def body(i):
        told = tf.py_func(tell, [i], tf.int64)
        told.set_shape([])
        return told

    loop = tf.while_loop(lambda i: i >= 0, body, [np.int64(0)])
    session = tf.Session()
    errors: list[BaseException] = []

    def run():
        try:
            session.run(loop)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(60)
    session.close()
    thread.join(60)
    assert isinstance(errors[0], tf.errors.CancelledError)


class _Tracked(np.ndarray):
    """An array that accepts weak references."""


def test_a_step_keeps_no_array_longer_than_its_last_use(graph):
    """Arrays of earlier iterations and nodes are freed."""
    alive: list[weakref.ref[Any]] = []
    most = []

    def make(i):
        array = np.full([100], float(i), np.float32).view(_Tracked)
        alive.append(weakref.ref(array))
        gc.collect(0)
        most.append(sum(one() is not None for one in alive))
        return array

    def body(i, x):
        y = tf.py_func(make, [i], tf.float32)
        y.set_shape([100])
        return i + 1, y

    loop = tf.while_loop(lambda i, x: i < 20, body, [0, tf.zeros([100])])
    with tf.Session() as session:
        assert session.run(loop)[1][0] == 19
    assert max(most) <= 3


def test_the_first_run_checks_what_kernels_give():
    """A loop is emitted at once, and wrong outputs of kernels are refused as by the reference."""
    from tfnb.core.op_registry import deregister_op, register_op
    from tfnb.core.shape_inference import unchanged_shape

    @register_op("GivesAnotherType", "x: float -> y: float", shape=unchanged_shape)
    def gives_another_type(xp: Any, x: Any) -> Any:
        return np.int32(1)

    try:

        def build():
            x = tf.placeholder(tf.float32, [])
            loop = tf.while_loop(
                lambda i, y: i < 2, lambda i, y: [i + 1, gives_another_type(y)], [0, x]
            )
            return [loop[1]], x

        both_ways(build, [1.0])
    finally:
        deregister_op("GivesAnotherType")


@pytest.mark.parametrize("kind", ["loops", "conds"])
def test_what_is_nested_too_deep_for_python_runs_on_the_reference(kind):
    """Twenty-five loops or a hundred conds run on the reference executor."""

    def nest(depth, value, x):
        if depth == 0:
            return tf.maximum(value, x)
        if kind == "conds":
            return tf.cond(value > 0.0, lambda: nest(depth - 1, value, x), lambda: x)
        inner = [0, value]
        return tf.while_loop(
            lambda i, v: i < 1, lambda i, v: (i + 1, nest(depth - 1, v, x)), inner
        )[1]

    answers = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [])
            y = nest(25 if kind == "loops" else 100, tf.identity(x), x)
            with tf.Session() as session:
                answers += [session.run(y, {x: value}) for value in (1.0, 2.0, -1.0)]
                assert not sources(session)
    assert answers[:3] == answers[3:]


def test_threads_that_need_different_functions_at_once_get_them(graph):
    """Four threads run one signature with scalars and with arrays."""
    x = tf.placeholder(tf.float32, None)
    y = tf.maximum(x, 0.0) - tf.minimum(x, 0.5)
    values = [1.0, [1.0, -1.0], -2.0, [[3.0]]] * 5
    found: dict[int, Any] = {}
    with lowering(Lowering.ALWAYS), tf.Session() as session:

        def run(number):
            found[number] = session.run(y, {x: values[number]})

        threads = [threading.Thread(target=run, args=(n,)) for n in range(len(values))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    for number, value in enumerate(values):
        assert np.array_equal(found[number], np.maximum(value, 0) - np.minimum(value, 0.5))


def case_op(index, x):
    """Return a Case of three functions, which the runtime lowers to _SwitchN and Merge."""
    names = []
    for number, compute in enumerate([lambda t: t + 1.0, lambda t: t * 2.0, lambda t: 10.0 / t]):
        made = function.Defun(tf.float32, func_name=f"case{number}")(compute)
        made.add_to_graph(tf.get_default_graph())
        names.append(made.name)
    attrs = {
        "Tin": [tf.float32],
        "Tout": [tf.float32],
        "output_shapes": [tf.TensorShape([])],
        "branches": [NameAttrList(name, {}) for name in names],
        "_lower_using_switch_merge": True,
    }
    graph = tf.get_default_graph()
    return graph.create_op("Case", [index, x], [tf.float32], name="case", attrs=attrs).outputs[0]


def test_a_case_is_a_chain_of_ifs():
    """An index out of range selects the last branch; a loop selects in each iteration."""

    def build():
        index = tf.placeholder(tf.int32, [])
        _, total = tf.while_loop(
            lambda i, _: i < 6, lambda i, t: [i + 1, case_op(i + index, t)], [0, 1.0]
        )
        return [total], index

    source = both_ways(build, [0, 1, -3, 7])
    assert "is000of00" in source
    assert "= chosen(" in source
    assert "_SwitchN" in source


def test_a_case_whose_index_is_no_scalar_is_refused_alike():
    """The error names the node that selects."""

    def build():
        index = tf.placeholder(tf.int32)
        return [case_op(index, tf.placeholder_with_default(2.0, []))], index

    both_ways(build, [1, [1, 2], [2]])


def test_a_switch_reads_a_variable_for_a_predicate_when_it_runs():
    """Two Switches with an assignment between them read different values.

    A third finds no value.
    """

    def build():
        wanted = tf.placeholder(tf.bool, [])
        cell = tf.raw_ops.VariableV2(shape=[], dtype=tf.bool, name="cell")
        start = tf.raw_ops.Assign(ref=cell, value=wanted)
        with tf.control_dependencies([start]):
            first = tf.raw_ops.Switch(data=tf.constant(1.0), pred=cell)
        merged = tf.raw_ops.Merge(inputs=[first[0] + 1.0, first[1] * 5.0])
        with tf.control_dependencies([merged[0].op]):
            other = tf.raw_ops.Assign(ref=cell, value=tf.logical_not(wanted))
        with tf.control_dependencies([other]):
            second = tf.raw_ops.Switch(data=merged[0], pred=cell)
        last = tf.raw_ops.Merge(inputs=[second[0] + 3.0, second[1] * 7.0])
        return [merged[0], last[0], last[1]], wanted

    assert "_Switch" not in both_ways(build, [True, False])


def test_a_variable_without_a_value_is_no_predicate():
    """The error names the Switch."""

    def build():
        data = tf.placeholder(tf.float32, [])
        cell = tf.raw_ops.VariableV2(shape=[], dtype=tf.bool, name="cell")
        sides = tf.raw_ops.Switch(data=data, pred=cell, name="switch")
        return [tf.raw_ops.Merge(inputs=[sides[0], -sides[1]])[0]], data

    both_ways(build, [1.0])


@pytest.mark.parametrize("num_iterations", [0, 1, 2, 5])
def test_a_fetch_in_a_loop_has_one_value_none_or_too_many(num_iterations):
    """A fetched result inside of a loop may be set once."""
    builder = GraphBuilder()
    start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
    builder.counting_loop(start, limit, one)
    builder.fetch(next(node for node in builder.graph.nodes if node and node.name == "loop/add"))
    answers = []
    immutable = builder.executor()
    for lowered in (None, lower(immutable)):
        immutable.warm_up.lowered = lowered
        try:
            answers.append(run_executor(immutable, (0, num_iterations, 1), builder.num_retvals))
        except tf.errors.OpError as error:
            answers.append((type(error), error.node_name, error.message))
    assert answers[0] == answers[1]
    assert lowered is not None
