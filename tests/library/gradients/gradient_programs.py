"""Programs whose first and second gradients are compared with TensorFlow's numbers.

They cover ops that need a program: control flow, lists, arrays, variables, functions. Each takes
the module under test, its function module and float64 placeholders, by which its result is
differentiated. TensorFlow's Python reads this file too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests import exact_numbers

Program = Callable[..., Any]
PROGRAMS: dict[str, Program] = {}
_X = np.array([[0.6, -1.25, 2.1], [1.4, 0.8, -0.6]])
_Y = np.array([[1.25, 0.45, -0.75], [0.25, 1.9, 1.1]])


def program(function: Program) -> Program:
    """Registers a program under its name."""
    PROGRAMS[function.__name__] = function
    return function


def values(tf: Any, defun: Any, name: str) -> list[Any]:
    """Return the result, its first and its second gradients; or the class of the error."""
    with tf.Graph().as_default():
        x, y = (tf.placeholder(tf.float64, [2, 3]) for _ in range(2))
        try:
            result = PROGRAMS[name](tf, defun, x, y)
            first = tf.gradients(result, [x, y], [tf.cos(result) + 2.0])
            dense = [tf.convert_to_tensor(g) for g in first if g is not None]
            weighed = [tf.reduce_sum(g * (y + 0.5)) for g in dense]
            fetched: list[Any] = [result, *dense]
            shown: list[Any] = [g is None for g in first]
            # A failure may leave the graph in the context of a loop.
            initialize = tf.global_variables_initializer()
        except (LookupError, TypeError, ValueError) as error:
            return [type(error).__name__]
        second: list[Any] = []
        try:
            second = tf.gradients(weighed, [x, y])
            shown += [g is None for g in second]
            second = [tf.convert_to_tensor(g) for g in second if g is not None]
        except (LookupError, TypeError, ValueError) as error:
            shown.append(type(error).__name__)
        feeds = {x: _X, y: _Y}
        with tf.Session() as session:
            session.run(initialize)
            found = session.run(fetched, feeds)
            try:
                found += session.run(second, feeds)
            except tf.errors.OpError as error:
                shown.append(type(error).__name__)
        return [*shown, *(np.asarray(one).tolist() for one in found)]


def slopes(tf: Any, defun: Any, name: str) -> tuple[float, float]:
    """Return the slope along a direction, by gradients and by differences."""
    with tf.Graph().as_default():
        x, y = (tf.placeholder(tf.float64, [2, 3]) for _ in range(2))
        result = PROGRAMS[name](tf, defun, x, y)
        loss = tf.reduce_sum(tf.sin(result))
        made = tf.gradients(loss, [x, y], unconnected_gradients="zero")
        grads = [tf.convert_to_tensor(g) for g in made]
        ways = [
            exact_numbers.cos(np.arange(6.0)).reshape(2, 3),
            exact_numbers.sin(np.arange(6.0) + 1).reshape(2, 3),
        ]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            here = session.run(grads, {x: _X, y: _Y})
            step = 1e-6
            ends = [
                session.run(loss, {x: _X + h * ways[0], y: _Y + h * ways[1]}) for h in (step, -step)
            ]
        by_gradients = sum(float((g * w).sum()) for g, w in zip(here, ways, strict=True))
        return by_gradients, float(ends[0] - ends[1]) / (2 * step)


@program
def cond_v1(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Switch and Merge."""
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * tf.exp(y), lambda: x - y)


@program
def cond_other(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """The taken branch does not use one input."""
    return tf.cond(tf.reduce_sum(x) < 0.0, lambda: x * y, lambda: tf.sin(y))


@program
def while_v1(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Enter, Exit, NextIteration and stacks."""
    step = lambda i, v: (i + 1, v * tf.sin(y) + x)  # noqa: E731
    return tf.while_loop(lambda i, v: i < 3, step, [tf.constant(0), x])[1]


@program
def while_nested(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """A loop in a loop, with a cond in it."""

    def inner(v: Any) -> Any:
        once = lambda j, u: (j + 1, u * 0.5 + tf.cond(j > 0, lambda: y * u, lambda: x))  # noqa: E731
        return tf.while_loop(lambda j, u: j < 2, once, [tf.constant(0), v])[1]

    return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, inner(v)), [tf.constant(0), x])[1]


def _branches(tf: Any, defun: Any) -> Any:
    @defun.Defun(tf.float64, tf.float64)
    def product(a: Any, b: Any) -> Any:
        return a * tf.tanh(b)

    @defun.Defun(tf.float64, tf.float64)
    def ratio(a: Any, b: Any) -> Any:
        return a / (tf.square(b) + 1.0)

    return product, ratio


@program
def if_op(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """In raw form TensorFlow's If has a gradient only through functions."""
    product, ratio = _branches(tf, defun)
    return tf.raw_ops.If(
        cond=tf.reduce_sum(x) > 0.0, input=[x, y], then_branch=product, else_branch=ratio,
        Tout=[tf.float64],
    )[0]  # fmt: skip


@program
def partitioned_call(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """A function called by name, twice."""
    product, ratio = _branches(tf, defun)
    once = tf.raw_ops.PartitionedCall(args=[x, y], Tout=[tf.float64], f=ratio)[0]
    return tf.raw_ops.StatefulPartitionedCall(args=[once, x], Tout=[tf.float64], f=product)[0]


@program
def defun_call(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """A function called as an op of its name."""
    product, ratio = _branches(tf, defun)
    return product(ratio(x, y), y)


@program
def cond_v2(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """StatelessIf, made by control flow of version 2."""
    tf.enable_control_flow_v2()
    try:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * tf.exp(y), lambda: x - y)
    finally:
        tf.disable_control_flow_v2()


@program
def while_v2(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """StatelessWhile, whose values go into tensor lists."""
    tf.enable_control_flow_v2()
    try:
        step = lambda i, v: (i + 1, v * tf.sin(y) + x)  # noqa: E731
        return tf.while_loop(lambda i, v: i < 3, step, [tf.constant(0), x])[1]
    finally:
        tf.disable_control_flow_v2()


@program
def switch_case(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """StatelessCase."""
    tf.enable_control_flow_v2()
    try:
        return tf.switch_case(tf.constant(1), [lambda: x, lambda: x * y, lambda: y])
    finally:
        tf.disable_control_flow_v2()


@program
def tensor_array(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Writes, reads and stacks."""
    array = tf.TensorArray(tf.float64, 3, clear_after_read=False)
    array = array.write(0, x).write(1, x * y).write(2, tf.exp(y))
    return array.read(1) * 2.0 + tf.reduce_sum(array.stack(), 0) + array.gather([2, 0])[0]


@program
def tensor_array_parts(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Split, concat, unstack and scatter."""
    array = tf.TensorArray(tf.float64, 2, infer_shape=False).split(tf.reshape(x, [6]), [4, 2])
    other = tf.TensorArray(tf.float64, 2).unstack(y * y)
    third = tf.TensorArray(tf.float64, 2).scatter([1, 0], x * y)
    return tf.reshape(tf.square(array.concat()), [2, 3]) + other.stack() * third.stack()


@program
def tensor_array_in_loop(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Written in one loop, read in another."""
    array = tf.TensorArray(tf.float64, 3)
    made = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x * tf.cast(i + 1, tf.float64))),
        [tf.constant(0), array],
    )[1]  # fmt: skip
    return tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, v + made.read(i) * y), [tf.constant(0), y]
    )[1]


def _list(tf: Any, x: Any, y: Any) -> Any:
    empty = tf.raw_ops.EmptyTensorList(
        element_shape=[2, 3], max_num_elements=-1, element_dtype=tf.float64
    )
    made = tf.raw_ops.TensorListPushBack(input_handle=empty, tensor=x)
    return tf.raw_ops.TensorListPushBack(input_handle=made, tensor=x * y)


@program
def list_pushed(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """PushBack, PopBack, Stack."""
    made = _list(tf, x, y)
    rest, last = tf.raw_ops.TensorListPopBack(
        input_handle=made, element_shape=[2, 3], element_dtype=tf.float64
    )
    stacked = tf.raw_ops.TensorListStack(
        input_handle=rest, element_shape=[2, 3], element_dtype=tf.float64, num_elements=1
    )
    return stacked[0] * last


@program
def list_items(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """FromTensor, SetItem, GetItem, Gather."""
    made = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[3])
    made = tf.raw_ops.TensorListSetItem(input_handle=made, index=1, item=y[0] * x[1])
    one = tf.raw_ops.TensorListGetItem(
        input_handle=made, index=1, element_shape=[3], element_dtype=tf.float64
    )
    all_ = tf.raw_ops.TensorListGather(
        input_handle=made, indices=[1, 0], element_shape=[3], element_dtype=tf.float64
    )
    return all_ * y + one


@program
def list_pieces(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Split, ConcatV2, Scatter, Resize."""
    flat = tf.reshape(x * y, [6])
    made = tf.raw_ops.TensorListSplit(
        tensor=flat, element_shape=[-1], lengths=np.array([4, 2], np.int64)
    )
    whole = tf.raw_ops.TensorListConcatV2(
        input_handle=made, element_shape=[-1], leading_dims=np.zeros(0, np.int64),
        element_dtype=tf.float64,
    )[0]  # fmt: skip
    placed = tf.raw_ops.TensorListScatterV2(
        tensor=x, indices=[1, 0], element_shape=[3], num_elements=-1
    )
    placed = tf.raw_ops.TensorListResize(input_handle=placed, size=2)
    stacked = tf.raw_ops.TensorListStack(
        input_handle=placed, element_shape=[3], element_dtype=tf.float64, num_elements=2
    )
    return tf.reshape(tf.square(whole), [2, 3]) + stacked * y


@program
def resource_reads(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Variables that do not depend on the inputs."""
    held = tf.Variable(np.array([[2.0, 3.0, 4.0], [0.5, 1.0, 1.5]]), use_resource=True)
    rows = tf.raw_ops.ResourceGather(resource=held.handle, indices=[1, 0], dtype=tf.float64)
    return x * held.read_value() + y * rows


@program
def by_variable(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Gradients by a variable, dense and as rows."""
    held = tf.Variable(np.array([[2.0, 3.0, 4.0], [0.5, 1.0, 1.5]]), use_resource=True)
    loss = tf.reduce_sum(x * held) + tf.reduce_sum(tf.gather(held, [1, 1]) * y)
    return tf.convert_to_tensor(tf.gradients(loss * loss, held)[0])


@program
def by_ref_variable(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Gradients by a reference variable, through a loop and a cond."""
    held = tf.Variable(np.array([[2.0, 3.0, 4.0], [0.5, 1.0, 1.5]]), use_resource=False)
    loop = tf.while_loop(
        lambda i, v: i < 2, lambda i, v: (i + 1, v * held), [tf.constant(0), x]
    )[1]  # fmt: skip
    chosen = tf.cond(tf.reduce_sum(x) > 0.0, lambda: held * y, lambda: held)
    return tf.convert_to_tensor(tf.gradients(loop * chosen, held)[0])


@program
def blocks(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """SpaceToBatchND and BatchToSpaceND."""
    wide = tf.reshape(x, [1, 2, 3, 1])
    cut = tf.space_to_batch_nd(wide, [2, 3], [[0, 0], [0, 0]])
    back = tf.batch_to_space_nd(tf.square(cut), [2, 3], [[0, 0], [0, 0]])
    return tf.reshape(back, [2, 3]) * y


@program
def rounded(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """Ops without gradients beside ops with gradients."""
    return tf.floor(x) * y + tf.ceil(y) * x + tf.round(x) + tf.math.rint(y) + x // y


@program
def prevented(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """PreventGradient raises an error."""
    return tf.raw_ops.PreventGradient(input=x * y, message="no")


@program
def mapped(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """map_fn and scan."""
    sums = tf.scan(lambda a, v: a * 0.5 + tf.sin(v), y)
    return tf.map_fn(lambda row: row * tf.reduce_sum(row), x) + sums


@program
def options(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """OptionalFromValue and OptionalGetValue."""
    held = tf.raw_ops.OptionalFromValue(components=[x * y, y])
    return tf.raw_ops.OptionalGetValue(
        optional=held, output_types=[tf.float64, tf.float64], output_shapes=[[2, 3], [2, 3]]
    )[0]


@program
def ragged_variant(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """RaggedTensorToVariant and back."""
    splits = np.array([0, 4, 6], np.int64)
    packed = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[splits], rt_dense_values=tf.reshape(x * y, [6]), batched_input=True
    )
    back = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=packed, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float64,
        Tsplits=tf.int64,
    )  # fmt: skip
    return tf.reshape(tf.square(back.output_dense_values), [2, 3])


@program
def mean_over_int64(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """A mean over axes of type int64, with sizes unknown while building."""
    unknown = tf.placeholder_with_default(x, [None, None])
    axes = tf.placeholder_with_default(np.array([1], np.int64), [1])
    return unknown * tf.reduce_mean(tf.square(unknown), axes, keepdims=True) * y


@program
def tensor_map(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """TensorMapInsert, TensorMapErase and TensorMapLookup."""
    one, two = tf.constant(1), tf.constant(2)
    held = tf.raw_ops.TensorMapInsert(
        input_handle=tf.raw_ops.EmptyTensorMap(), key=one, value=x * y
    )
    held = tf.raw_ops.TensorMapInsert(input_handle=held, key=two, value=tf.sin(y))
    found = tf.raw_ops.TensorMapLookup(input_handle=held, key=one, value_dtype=tf.float64)
    left = tf.raw_ops.TensorMapErase(input_handle=held, key=one, value_dtype=tf.float64)
    return found * tf.raw_ops.TensorMapLookup(input_handle=left, key=two, value_dtype=tf.float64)


@program
def references(tf: Any, defun: Any, x: Any, y: Any) -> Any:
    """RefSwitch, RefMerge and RefIdentity, differentiated by the variable."""
    start = np.array([[0.5, 1.0, 1.5], [2.0, -1.0, -0.5]])
    variable = tf.Variable(start, use_resource=False)
    with tf.control_dependencies([x]):
        chosen = tf.constant(True)
    sides = tf.raw_ops.RefSwitch(data=variable._ref(), pred=chosen)
    merged = tf.raw_ops.RefMerge(inputs=list(sides))[0]
    value = tf.raw_ops.RefIdentity(input=merged)
    return tf.gradients(tf.sin(value * x), [variable])[0] * y
