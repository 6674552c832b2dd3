"""Fetches, feeds, callables, and the state that a step reads."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np

from tests.client.behaviours.writing import behaviour

Pair = namedtuple("Pair", "x y")  # noqa: PYI024 - what a user's own looks like


@behaviour(25, 'has invalid type "NoneType"')
def fetching_none(tf: Any) -> Any:
    tf.constant(1)
    return tf.Session().run(None)


@behaviour(25, 'has invalid type "NoneType"')
def fetching_none_in_a_list(tf: Any) -> Any:
    tf.constant(1)
    return tf.Session().run([None])


@behaviour(26)
def structures_come_back(tf: Any) -> Any:
    one = tf.constant(1)
    found = tf.Session().run(
        {
            "second": (one,),
            "first": OrderedDict([("b", one), ("a", [one, []])]),
            "pair": Pair(one, [one]),
            "empty": {},
        }
    )
    kinds = {key: type(value) for key, value in found.items()}
    return kinds, list(found), list(found["first"]), found


@behaviour(27)
def an_operation_gives_none(tf: Any) -> Any:
    one = tf.constant(1, name="one")
    sess = tf.Session()
    return sess.run("one"), sess.run(one.op), sess.run([one, one.op])


@behaviour(28)
def a_fetch_three_times(tf: Any) -> Any:
    count = [0]

    def step() -> Any:
        count[0] += 1
        return np.float32(count[0])

    value = tf.py_func(step, [], tf.float32)
    return tf.Session().run([value, {"again": value}, (value,)]), count


@behaviour(29)
def empty_fetches_touch_nothing(tf: Any) -> Any:
    with tf.device("/gpu:9"):
        tf.constant(1)
    sess = tf.Session()
    return sess.run([]), sess.run({}), sess.run(())


@behaviour(30)
def types_of_fetched_values(tf: Any) -> Any:
    sess = tf.Session()
    values = [
        sess.run(tf.constant(value, dtype))
        for value, dtype in [
            (1, tf.int32),
            (1.5, tf.float32),
            (True, tf.bool),
            ([1], tf.int64),
            ([[0.5]], tf.double),
            ("a", tf.string),
            (["a", "bc"], tf.string),
            (1j, tf.complex64),
            ([], tf.float32),
        ]
    ]
    return [type(value) for value in values], values


@behaviour(31)
def what_is_fed_and_fetched(tf: Any) -> Any:
    one, text = tf.constant(1.0), tf.placeholder(tf.string)
    sess = tf.Session()
    found = sess.run([one, one + 1], {one: 5.0})
    said = sess.run(text, {text: "é"})
    return [type(value) for value in found], found, type(said), str(said)


@behaviour(33, "must be a string or Tensor")
def fetching_a_number(tf: Any) -> Any:
    tf.constant(1)
    return tf.Session().run(37)


@behaviour(34, "is not an element of this graph")
def fetching_from_another_graph(tf: Any) -> Any:
    with tf.Graph().as_default():
        foreign = tf.constant(1)
    tf.constant(1)
    return tf.Session().run(foreign)


@behaviour(35, "does not exist in the graph")
def fetching_an_unknown_name(tf: Any) -> Any:
    tf.constant(1)
    return tf.Session().run("nobody:0")


@behaviour(35, "exists but only has 1 outputs")
def fetching_an_output_too_many(tf: Any) -> Any:
    tf.constant(1, name="one")
    return tf.Session().run("one:3")


@behaviour(36)
def names_instead_of_tensors(tf: Any) -> Any:
    tf.constant(3, name="scope/three")
    fed = tf.placeholder(tf.float32, name="fed")
    sess = tf.Session()
    return sess.run("scope/three:0"), sess.run(fed + 1, {"fed:0": 2.0})


@behaviour(36, "Cannot interpret feed_dict key as Tensor")
def a_feed_key_without_port(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32, name="fed")
    return tf.Session().run(fed, {"fed": 2.0})


@behaviour(37, "Cannot interpret feed_dict key as Tensor")
def an_operation_as_feed_key(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32)
    return tf.Session().run(fed, {fed.op: 1.0})


@behaviour(37, "Cannot interpret feed_dict key as Tensor")
def an_unknown_feed_key(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32)
    return tf.Session().run(fed, {"nobody:0": 1.0})


@behaviour(37)
def feeding_sparse_tensors(tf: Any) -> Any:
    sparse = tf.sparse_placeholder(tf.float32)
    dense = tf.sparse_tensor_to_dense(sparse)
    sess = tf.Session()
    parts = ([[0, 1]], [5.0], [1, 3])
    return sess.run(dense, {sparse: tf.SparseTensorValue(*parts)}), sess.run(dense, {sparse: parts})


@behaviour(37)
def feeding_tuples_of_tensors(tf: Any) -> Any:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    return tf.Session().run(x - y, {(x, y): (5.0, 3.0)})


@behaviour(38)
def feeding_cuts_the_graph(tf: Any) -> Any:
    unfed = tf.placeholder(tf.float32)
    between = unfed * 2
    return tf.Session().run(between + 1, {between: 10.0})


@behaviour(38)
def feeding_a_constant(tf: Any) -> Any:
    two, three = tf.constant(2.0), tf.constant(3.0)
    return tf.Session().run(two * three + 1, {two: 10.0})


@behaviour(39, "The value of a feed cannot be a tf.Tensor object")
def feeding_a_tensor(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32)
    return tf.Session().run(fed, {fed: tf.constant(1.0)})


@behaviour(40, "Cannot feed value of shape (3,) for Tensor fed:0, which has shape (2,)")
def feeding_another_shape(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32, [2], name="fed")
    return tf.Session().run(fed, {fed: [1, 2, 3]})


@behaviour(41, "is not compatible with Tensor type")
def feeding_a_number_too_large(tf: Any) -> Any:
    fed = tf.placeholder(tf.int8)
    return tf.Session().run(fed, {fed: 1000})


@behaviour(42)
def feeding_floats_to_integers(tf: Any) -> Any:
    fed = tf.placeholder(tf.int32)
    sess = tf.Session()
    return sess.run(fed + 0, {fed: 1.7}), sess.run(fed + 0, {fed: np.array([1.7, -2.2])})


@behaviour(43)
def feeding_strings(tf: Any) -> Any:
    fed = tf.placeholder(tf.string)
    same = tf.identity(fed)
    sess = tf.Session()
    return [
        sess.run(same, {fed: value})
        for value in (["a", b"b"], "é", np.array(["a", "bc"]), [b"\0a\0"], "a\0")
    ]


@behaviour(44, "may not be fed.")
def feeding_what_may_not_be_fed(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32)
    tf.get_default_graph().prevent_feeding(fed)
    return tf.Session().run(fed, {fed: 1.0})


@behaviour(44, "has been marked as not fetchable")
def fetching_what_may_not_be_fetched(tf: Any) -> Any:
    one = tf.constant(1.0)
    tf.get_default_graph().prevent_fetching(one.op)
    return tf.Session().run(one)


def _loop_with_inside(tf: Any) -> tuple[Any, Any]:
    inside: list[Any] = []

    def body(i: Any) -> Any:
        inside.append(i + 1)
        return inside[0]

    return tf.while_loop(lambda i: i < 10, body, [0]), inside[0]


@behaviour(45, "has been marked as not fetchable")
def fetching_inside_a_loop(tf: Any) -> Any:
    return tf.Session().run(_loop_with_inside(tf)[1])


@behaviour(45, "may not be fed.")
def feeding_inside_a_loop(tf: Any) -> Any:
    loop, inside = _loop_with_inside(tf)
    return tf.Session().run(loop, {inside: 3})


@behaviour(46, "You must feed a value for placeholder tensor 'p' with dtype float")
def an_unfed_placeholder(tf: Any) -> Any:
    return tf.Session().run(tf.placeholder(tf.float32, name="p") + 1)


@behaviour(46, "You must feed a value for placeholder tensor 'p' with dtype float and shape [2,3]")
def an_unfed_placeholder_of_known_shape(tf: Any) -> Any:
    return tf.Session().run(tf.placeholder(tf.float32, [2, 3], name="p") + 1)


@behaviour(47)
def feeding_a_variable(tf: Any) -> Any:
    variable = tf.Variable(3.0, use_resource=False)
    double = variable * 2
    sess = tf.Session()
    sess.run(variable.initializer)
    return sess.run(double, {variable: 10.0}), sess.run(double)


@behaviour(48, "incompatible with expected float_ref")
def assigning_to_a_fed_variable(tf: Any) -> Any:
    variable = tf.Variable(3.0, use_resource=False)
    return tf.Session().run(tf.assign(variable, 5.0), {variable: 10.0})


@behaviour(52)
def the_order_of_fetches(tf: Any) -> Any:
    one, two = tf.constant(1), tf.constant(2)
    sess = tf.Session()
    return sess.run([one, two]), sess.run([two, one]), sess.run([two, one, two])


@behaviour(53)
def fetching_composites(tf: Any) -> Any:
    sess = tf.Session()
    sparse = sess.run(tf.SparseTensor([[0, 0]], [1.0], [2, 2]))
    slices = sess.run(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))
    return type(sparse), list(sparse), type(slices), list(slices)


@behaviour(54)
def fetching_a_reference_with_its_assign(tf: Any) -> Any:
    variable = tf.Variable(1.0, use_resource=False)
    add = tf.assign_add(variable, 1.0)
    sess = tf.Session()
    sess.run(variable.initializer)
    return sess.run([variable, add]), sess.run(variable)


@behaviour(55, "Attempting to use uninitialized value v")
def fetching_an_uninitialized_reference(tf: Any) -> Any:
    return tf.Session().run(tf.Variable(3.0, use_resource=False, name="v"))


@behaviour(55, "Attempting to use uninitialized value v")
def consuming_an_uninitialized_reference(tf: Any) -> Any:
    return tf.Session().run(tf.Variable(3.0, use_resource=False, name="v") + 1)


@behaviour(56, "Could not find variable v")
def an_uninitialized_resource(tf: Any) -> Any:
    return tf.Session().run(tf.Variable(3.0, use_resource=True, name="v"))


@behaviour(57)
def asking_whether_initialized(tf: Any) -> Any:
    variable = tf.Variable(3.0, use_resource=False, name="v")
    asked = [tf.is_variable_initialized(variable), tf.report_uninitialized_variables()]
    sess = tf.Session()
    before = sess.run(asked)
    sess.run(variable.initializer)
    return before, sess.run(asked)


@behaviour(62)
def callables(tf: Any) -> Any:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    sess = tf.Session()
    less = sess.make_callable({"less": [x - y]}, feed_list=[y, x])
    return (
        sess.make_callable(tf.no_op())(),
        sess.make_callable([tf.constant(1)] * 2)(),
        less(1.0, 5.0),
    )


@behaviour(62, "Argument `feed_list` must be a list or tuple")
def a_callable_with_a_tensor_for_its_feeds(tf: Any) -> Any:
    one = tf.constant(1)
    return tf.Session().make_callable(one, feed_list=one)


@behaviour(65)
def what_an_error_knows(tf: Any) -> Any:
    unfed = tf.placeholder(tf.float32, name="p")
    try:
        tf.Session().run(unfed + 1)
    except tf.errors.InvalidArgumentError as error:
        return error.op.name, error.op is unfed.op, error.node_def.name, error.error_code


@behaviour(65)
def an_error_without_a_node(tf: Any) -> Any:
    dead, _ = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True))
    try:
        tf.Session().run(dead)
    except tf.errors.InvalidArgumentError as error:
        return error.op, error.node_def


@behaviour(67)
def fetched_arrays_are_the_callers(tf: Any) -> Any:
    numbers = tf.constant([1, 2])
    fed = tf.placeholder(tf.float32, [2])
    same = tf.identity(fed)
    sess = tf.Session()
    first = sess.run(numbers)
    first[0] = 5
    given = np.zeros(2, np.float32)
    found = sess.run(same, {fed: given})
    return first, sess.run(numbers), np.shares_memory(found, given), found.flags.writeable


@behaviour(70)
def a_seeded_op_goes_on_over_signatures(tf: Any) -> Any:
    number, one = tf.random_uniform([], seed=7), tf.constant(1.0)
    first, second = tf.Session(), tf.Session()
    mixed = [first.run(number), first.run([number, one])[0], first.run(number)]
    return mixed, [second.run(number) for _ in range(3)]


@behaviour(70)
def a_graph_seed_is_each_sessions_own(tf: Any) -> Any:
    tf.set_random_seed(1)
    number = tf.random_uniform([])
    return [tf.Session().run(number) for _ in range(2)]


@behaviour(71)
def a_random_op_runs_once_a_step(tf: Any) -> Any:
    number = tf.random_uniform([])
    sess = tf.Session()
    first, second = sess.run([number, number])
    return bool(first == second), bool(first == sess.run(number))


@behaviour(80, "No executor factory registered for the given executor type: NOBODY")
def an_unknown_executor_type(tf: Any) -> Any:
    return tf.Session(config=_executor(tf, "NOBODY")).run(tf.constant(1))


@behaviour(81)
def the_single_threaded_executor(tf: Any) -> Any:
    fed = tf.placeholder(tf.float32)
    return tf.Session(config=_executor(tf, "SINGLE_THREADED_EXECUTOR")).run(fed + 1, {fed: 1.0})


@behaviour(81, "Single-threaded executor does not support switch op, but saw node cond/Switch")
def the_single_threaded_executor_on_a_cond(tf: Any) -> Any:
    fed = tf.placeholder(tf.bool)
    chosen = tf.cond(fed, lambda: 1, lambda: 2)
    sess = tf.Session(config=_executor(tf, "SINGLE_THREADED_EXECUTOR"))
    return sess.run(chosen, {fed: True})


def _executor(tf: Any, name: str) -> Any:
    config = tf.ConfigProto()
    config.experimental.executor_type = name
    return config


def _failing(tf: Any, error: BaseException) -> Any:
    def fail() -> Any:
        raise error

    return tf.Session().run(tf.py_func(fail, [], tf.float32))


@behaviour(250, "ValueError: boom")
def a_value_error_in_python(tf: Any) -> Any:
    return _failing(tf, ValueError("boom"))


@behaviour(250, "TypeError: boom")
def a_type_error_in_python(tf: Any) -> Any:
    return _failing(tf, TypeError("boom"))


@behaviour(250, "StopIteration: done")
def a_stop_iteration_in_python(tf: Any) -> Any:
    return _failing(tf, StopIteration("done"))


@behaviour(250, "MemoryError: full")
def a_memory_error_in_python(tf: Any) -> Any:
    return _failing(tf, MemoryError("full"))


@behaviour(250, "NotImplementedError: later")
def a_not_implemented_error_in_python(tf: Any) -> Any:
    return _failing(tf, NotImplementedError("later"))


@behaviour(250, "KeyError: 'key'")
def another_error_in_python(tf: Any) -> Any:
    return _failing(tf, KeyError("key"))
