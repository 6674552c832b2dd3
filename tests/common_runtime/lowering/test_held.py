"""TensorArrays and stacks in a variable of an emitted function agree with the reference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.common_runtime.lowering.test_control_flow import sources
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.framework.functions import function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

raw = tf.raw_ops


def both_ways(build: Callable[[Any], Sequence[Any]], feeds: Sequence[Any], dtype: Any) -> str:
    """Run what ``build`` makes of a placeholder both ways; return the source.

    Each array has a number in its name, which grows from run to run.
    """
    answers, source = [], ""
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            fed = tf.placeholder(dtype, None, "fed")
            fetches = build(fed)
            with tf.Session() as session:
                found: list[Any] = []
                for value in feeds:
                    try:
                        values = session.run(fetches, {fed: value})
                        found.append([content(np.asarray(x)) for x in values])
                    except tf.errors.OpError as error:
                        message = re.sub(r"_\d+(@\w+)?: ", ": ", error.message)
                        name = error.node_def and error.node_def.name
                        found.append((type(error), message, name))
                answers.append(found)
                source = "".join(sources(session))
    assert answers[0] == answers[1]
    assert source
    return source


def content(x: Any) -> tuple[Any, ...]:
    """Return the comparable contents of an array."""
    return x.dtype, x.shape, x.tolist() if x.dtype == object else x.tobytes()


def array_of(size: Any, dtype: Any = tf.float32, **attrs: Any) -> tuple[Any, Any]:
    """Return a handle and a flow."""
    return raw.TensorArrayV3(size=size, dtype=dtype, name="array", **attrs)


def write(handle: Any, index: Any, value: Any, flow: Any, name: str = "write") -> Any:
    """Return the flow behind a write."""
    return raw.TensorArrayWriteV3(handle=handle, index=index, value=value, flow_in=flow, name=name)


def read(handle: Any, index: Any, flow: Any, dtype: Any = tf.float32, name: str = "read") -> Any:
    """Return an element."""
    return raw.TensorArrayReadV3(handle=handle, index=index, flow_in=flow, dtype=dtype, name=name)


def test_an_array_that_goes_nowhere_is_called_without_a_handle():
    """Reads and writes in loops use the array without a handle, and so do ops around the loops."""

    def build(x):
        given = tf.TensorArray(tf.float32, 4).unstack(x)
        made = tf.TensorArray(tf.float32, 4)

        def body(i, made):
            return i + 1, made.write(i, given.read(i) * 2.0)

        made = tf.while_loop(lambda i, _: i < 4, body, [0, made])[1]
        with tf.control_dependencies([made.flow]):
            closed = given.close()
        with tf.control_dependencies([closed]):
            size = raw.TensorArraySizeV3(handle=made.handle, flow_in=made.flow)
        return [made.stack(), size]

    source = both_ways(build, [np.ones((4, 3)), np.arange(4.0), np.ones((3, 2))], tf.float32)
    assert source.count("holding(") == 2
    assert ".write(" in source
    assert ".read(" in source
    assert source.count("context(") == 4  # scatter, close, size, gather


@pytest.mark.parametrize("clear_after_read", [True, False])
@pytest.mark.parametrize("dynamic_size", [True, False])
def test_places_are_checked_as_by_the_reference(clear_after_read, dynamic_size):
    """Every pair of writes and reads is compared: out of range, twice, unwritten, after a read."""

    def build(x):
        handle, flow = array_of(
            3, clear_after_read=clear_after_read, dynamic_size=dynamic_size, element_shape=[]
        )
        value = tf.constant(2.5)
        flow = write(handle, x[0], value, flow, "first")
        flow = write(handle, x[1], value + 1.0, flow, "second")
        one = read(handle, x[2], flow, name="one")
        with tf.control_dependencies([one]):
            two = read(handle, x[3], flow, name="two")
        with tf.control_dependencies([two]):
            flow = write(handle, x[4], value * 2.0, flow, "third")
        return [one, two, read(handle, x[4], flow, name="three")]

    feeds = [
        [0, 1, 0, 1, 2], [0, 0, 0, 1, 2], [0, 3, 0, 1, 2], [-1, 0, 0, 1, 2], [0, 1, 0, 0, 2],
        [0, 1, 2, 1, 2], [0, 1, 2, 2, 2], [0, 1, 3, 1, 2], [0, 1, -2, 1, 2], [0, 1, 0, 1, 1],
        [0, 2, 1, 1, 1], [2, 1, 0, 1, 0], [0, 1, 1, 5, 2], [9, 1, 4, 9, 2],
    ]  # fmt: skip
    source = both_ways(build, feeds, tf.int32)
    assert "holding(" in source


@pytest.mark.parametrize("infer_shape", [True, False])
def test_elements_of_several_forms_are_refused_or_kept_as_by_the_reference(infer_shape):
    """Rows of a matrix, scalars beside arrays, and empty elements are compared."""

    def build(x):
        handle, flow = array_of(4, identical_element_shapes=infer_shape)
        flow = write(handle, 0, tf.zeros([2]), flow)
        flow = write(handle, 1, x, flow, "odd")
        flow = write(handle, 2, tf.ones([2]), flow)
        first, odd = read(handle, 0, flow), read(handle, 1, flow)
        with tf.control_dependencies([first, odd]):
            third = read(handle, 2, flow)
            with tf.control_dependencies([third]):
                flow = write(handle, 3, odd, flow, "again")
        return [first, odd, third, read(handle, 3, flow)]

    feeds = [np.ones(2), np.ones(3), 1.0, np.ones((2, 2)), np.ones(0), np.array(3.0)]
    assert "holding(" in both_ways(build, feeds, tf.float32)


@pytest.mark.parametrize("clear_after_read", [True, False])
def test_gathering_reads_as_reading_does(clear_after_read):
    """The same index twice, read, unwritten and no elements are compared."""

    def build(x):
        handle, flow = array_of(4, clear_after_read=clear_after_read, element_shape=[2])
        rows = tf.reshape(tf.range(6.0), [3, 2])
        flow = raw.TensorArrayScatterV3(handle=handle, indices=[0, 1, 2], value=rows, flow_in=flow)
        one = read(handle, 0, flow)
        with tf.control_dependencies([one]):
            found = raw.TensorArrayGatherV3(
                handle=handle, indices=x, flow_in=flow, dtype=tf.float32, element_shape=[2]
            )
        with tf.control_dependencies([found]):
            flow = write(handle, 3, one, flow, "late")
        return [one, found, flow]

    feeds = [[1, 2], [2, 1], [1, 1], [0, 1], [1, 3], [1, 4], [-1], [], [3, 3]]
    both_ways(build, feeds, tf.int32)


def test_gradients_of_reads_and_writes():
    """Arrays of gradients are held with their array; two reads of one element add up."""

    def build(x):
        given = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
        made = tf.TensorArray(tf.float32, 6, element_shape=given.element_shape)

        def body(i, made):
            value = given.read(i) * tf.cast(i + 1, tf.float32) + given.read(2 - i) ** 2.0
            return i + 1, made.write(i, value)

        made = tf.while_loop(lambda i, _: i < 3, body, [0, made])[1]
        some = made.gather([0, 2])
        return [some, *tf.gradients(tf.reduce_sum(some * some), x)]

    source = both_ways(build, [np.arange(3.0), np.ones((3, 2)), np.ones((2, 2))], tf.float32)
    assert ".gradient_for(" in source
    assert source.count("holding(") >= 4  # two arrays, and stacks


def test_concat_and_split_with_their_gradients():
    """The pieces have several lengths."""

    def build(x):
        given = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
        made = tf.TensorArray(tf.float32, 2, infer_shape=False)
        made = made.write(0, given.read(1) * 2.0).write(1, given.read(0) * 3.0)
        joined = made.concat()
        return [joined, *tf.gradients(joined * joined, x)]

    assert "holding(" in both_ways(build, [np.arange(3.0), np.ones((3, 2)), [1.0]], tf.float32)


def test_arrays_of_every_kind_of_value():
    """Strings, scalars, complex numbers, and zeros for unwritten elements are compared."""

    def build(x):
        found = []
        for dtype, values in (
            (tf.string, ["a", "bc"]),
            (tf.int64, [3, 4]),
            (tf.complex64, [1j, 2.0]),
            (tf.bool, [True, False]),
            (tf.bfloat16, [1.5, -0.0]),
        ):
            array = tf.TensorArray(dtype, 3, element_shape=[]).unstack(tf.constant(values, dtype))
            found += [array.read(x), array.gather([1])]
        return found

    assert "holding(" in both_ways(build, [0, 1, 2, 3], tf.int32)


def test_handles_in_an_array_are_values():
    """Only the outer array is held, not the arrays whose handles it has."""

    def build(x):
        inner, flow = array_of(2, clear_after_read=False)
        flow = write(inner, 0, x, flow, "inner")
        outer, outer_flow = array_of(1, tf.resource)
        outer_flow = write(outer, 0, inner, outer_flow, "outer")
        again = read(outer, 0, outer_flow, tf.resource)
        return [read(inner, 0, flow, name="one"), read(again, 0, flow, name="two")]

    source = both_ways(build, [1.0, [2.0]], tf.float32)
    assert source.count("holding(") == 1


def test_an_array_chosen_by_a_cond_is_held():
    """A Merge of two handles holds one of the two arrays."""

    def build(x):
        with tf.name_scope("one"):
            one, one_flow = array_of(2)
            one_flow = write(one, 0, tf.constant(1.0), one_flow)
        with tf.name_scope("two"):
            two, two_flow = array_of(2)
            two_flow = write(two, 0, tf.constant(2.0), two_flow)
        chosen, flow = [
            raw.Merge(
                inputs=[
                    raw.Switch(data=first, pred=x).output_true,
                    raw.Switch(data=second, pred=x).output_false,
                ]
            ).output
            for first, second in ((one, two), (one_flow, two_flow))
        ]
        return [read(chosen, 0, flow)]

    source = both_ways(build, [True, False], tf.bool)
    assert source.count("holding(") == 2


def test_arrays_of_a_loop_are_new_in_each_iteration():
    """The handle ends with the iteration."""

    def build(x):
        def body(i, total):
            inner = tf.TensorArray(tf.float32, 2).write(0, total).write(1, x)
            return i + 1, inner.read(0) + inner.read(1)

        return tf.while_loop(lambda i, _: i < 3, body, [0, tf.constant(1.0)])

    assert "holding(" in both_ways(build, [2.0], tf.float32)


def test_a_handle_that_goes_elsewhere_stays_a_handle():
    """An array is not held if its handle goes into a function or another type is read."""

    @function.Defun(tf.resource, tf.float32, tf.int32, noinline=True)
    def read_in_function(handle, flow, index):
        return read(handle, index, flow)

    def to_function(x):
        handle, flow = array_of(2, element_shape=[])
        flow = write(handle, 0, tf.constant(3.0), flow)
        return [read_in_function(handle, flow, x)]

    def to_other_type(x):
        handle, flow = array_of(2)
        return [read(handle, x, flow, tf.int32)]

    for build in (to_function, to_other_type):
        assert "holding(" not in both_ways(build, [0, 1, 2], tf.int32)


@pytest.mark.parametrize("size", [-1, 0, 2])
def test_stacks_are_checked_as_by_the_reference(size):
    """Pushes, pops and closes in every order; full, empty and closed stacks raise equal errors."""

    def build(x):
        handle = raw.StackV2(max_size=size, elem_type=tf.float32, name="stack")

        def body(i, total):
            def push():
                return raw.StackPushV2(handle=handle, elem=total + 1.0, name="push")

            def pop():
                popped = raw.StackPopV2(handle=handle, elem_type=tf.float32, name="pop")
                return tf.ensure_shape(popped, [])

            def close():
                with tf.control_dependencies([raw.StackCloseV2(handle=handle, name="close")]):
                    return tf.identity(total)

            return i + 1, tf.cond(x[i] > 0, push, lambda: tf.cond(x[i] < 0, pop, close))

        return tf.while_loop(lambda i, _: i < tf.size(x), body, [0, tf.constant(1.0)])

    feeds = [[1, 1, -1, -1], [1, -1, -1], [1, 1, 1], [], [0], [0, 1], [1, 0, -1], [0, 0], [-1]]
    assert "holding(" in both_ways(build, feeds, tf.int32)


def test_a_stack_of_another_type_stays_a_handle():
    """The push names the type of the stack."""

    def build(x):
        handle = raw.StackV2(max_size=-1, elem_type=tf.int32, name="stack")
        return [raw.StackPushV2(handle=handle, elem=x, name="push")]

    assert "holding(" not in both_ways(build, [1.0], tf.float32)


def test_an_error_of_values_shows_a_handle_where_the_array_is():
    """An error of NumPy lists the forms of all inputs, with a handle in place of the array."""

    def build(x):
        handle, flow = array_of(2)
        return [read(handle, x, flow)]

    both_ways(build, [[0, 1]], tf.int32)


def test_an_array_ends_with_its_last_use():
    """A value of a cleared element is freed after its last use, and so is the array."""
    with tf.Graph().as_default():
        array = tf.TensorArray(tf.float32, 1).write(0, tf.ones([3]))
        value = array.read(0) * 2.0
        with tf.Session() as session, lowering(Lowering.ALWAYS):
            session.run(value)
            (source,) = sources(session)
    handle = re.search(r"^    (v\d+), v\d+_1 = .*holding\(", source, re.MULTILINE)
    assert handle is not None
    reading = source.index(".read(")
    assert re.search(rf"^    del .*\b{handle[1]}\b", source[reading:], re.MULTILINE)
