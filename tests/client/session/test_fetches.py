"""What may be fetched, and the form of the results."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import attr
import numpy as np
import pytest

import tfnb as tf
from tfnb.client.session import conversions
from tfnb.client.session.conversions import register_session_run_conversion_functions

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pair(NamedTuple):
    """Two named values."""

    x: Any
    y: Any


@dataclasses.dataclass
class Record:
    """Two values in a dataclass."""

    x: Any
    y: Any


@attr.s
class Attrs:
    """Two values in an attrs class."""

    x = attr.ib()
    _y = attr.ib()


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def run_twice(sess: tf.Session, fetches: Any, **arguments: Any) -> Any:
    """Run with a new and with a kept call plan, which must agree."""
    first = sess.run(fetches, **arguments)
    second = sess.run(fetches, **arguments)
    assert repr(first) == repr(second)
    return second


# -- values ----------------------------------------------------------------------------------------


def test_scalars_come_as_numpy_scalars(sess: tf.Session) -> None:
    """The type of the scalar shows the dtype."""
    assert type(run_twice(sess, tf.constant(1))) is np.int32
    assert type(run_twice(sess, tf.constant(1.5))) is np.float32
    assert type(run_twice(sess, tf.constant(True))) is np.bool_
    assert type(run_twice(sess, [tf.constant(1)])[0]) is np.int32


def test_arrays_come_as_ndarrays(sess: tf.Session) -> None:
    """With the tensor's dtype and shape."""
    value = run_twice(sess, tf.constant([[1.0, 2.0]]))
    assert (np.ndarray, np.float32, (1, 2)) == (type(value), value.dtype, value.shape)


def test_strings_come_as_bytes(sess: tf.Session) -> None:
    """A scalar string is bytes, an array of strings has dtype object."""
    assert run_twice(sess, tf.constant("a")) == b"a"
    value = run_twice(sess, tf.constant(["a", "é"]))
    assert object == value.dtype
    assert [b"a", "é".encode()] == value.tolist()


def test_fetched_arrays_belong_to_the_caller(sess: tf.Session) -> None:
    """Writing into one changes neither constants nor variables."""
    c, v = tf.constant([1, 2]), tf.Variable([1, 2])
    sess.run(v.initializer)
    for fetch in (c, v):
        value = sess.run(fetch)
        value[0] = 77
        assert sess.run(fetch).tolist() == [1, 2]


# -- structures ------------------------------------------------------------------------------------


def test_operations_give_none(sess: tf.Session) -> None:
    """An operation gives None in its place."""
    a, op = tf.constant(1), tf.no_op()
    assert run_twice(sess, op) is None
    assert run_twice(sess, [a, op, a]) == [1, None, 1]


def test_names_work_as_well_as_objects(sess: tf.Session) -> None:
    """A name with a port is a tensor, without one an operation."""
    tf.constant(3, name="n/a")
    assert run_twice(sess, "n/a:0") == 3
    assert run_twice(sess, "n/a") is None


@pytest.mark.parametrize("empty", [[], (), {}, [[]], {"a": []}, [(), {}]])
def test_empty_structures_stay_as_they_are(sess: tf.Session, empty: Any) -> None:
    """An empty structure gives an equal empty structure."""
    tf.constant(1)
    assert empty == run_twice(sess, empty)


def test_nested_structures_are_mirrored(sess: tf.Session) -> None:
    """Every kind of container comes back as its own kind."""
    a, b, op = tf.constant(1), tf.constant(2), tf.no_op()
    result = run_twice(
        sess,
        {
            "z": a,
            "list": [a, (b, op), []],
            "ordered": collections.OrderedDict([("b", b), ("a", a)]),
            "pair": Pair(a, [b]),
            "attrs": Attrs(a, {"k": b}),
            "record": Record(b, (a,)),
        },
    )
    assert {
        "z": 1,
        "list": [1, (2, None), []],
        "ordered": collections.OrderedDict([("b", 2), ("a", 1)]),
        "pair": Pair(1, [2]),
        "attrs": Attrs(1, {"k": 2}),
        "record": Record(2, (1,)),
    } == result
    assert type(result["pair"]) is Pair
    assert type(result["list"][1]) is tuple
    assert list(result["ordered"]) == ["b", "a"]
    assert list(result) == ["z", "list", "ordered", "pair", "attrs", "record"]


def test_defaultdict_keeps_its_factory(sess: tf.Session) -> None:
    """A defaultdict gives a defaultdict with the same factory."""
    fetches = collections.defaultdict(list, a=tf.constant(1))
    result = run_twice(sess, fetches)
    assert (collections.defaultdict, list) == (type(result), result.default_factory)


def test_a_list_and_a_tuple_of_the_same_are_two_questions(sess: tf.Session) -> None:
    """The structure is part of the key of a call plan."""
    a, b = tf.constant(1), tf.constant(2)
    assert run_twice(sess, [a, b]) == [1, 2]
    assert run_twice(sess, (a, b)) == (1, 2)
    assert run_twice(sess, [b, a]) == [2, 1]
    assert run_twice(sess, {"a": a, "b": b}) == {"a": 1, "b": 2}
    assert run_twice(sess, {"a": b, "b": a}) == {"a": 2, "b": 1}
    assert Pair(1, 2) == run_twice(sess, Pair(a, b))
    assert run_twice(sess, [[a], b]) == [[1], 2]


def test_the_same_fetch_several_times_is_computed_once(sess: tf.Session) -> None:
    """A random number fetched twice is computed once."""
    r = tf.random_uniform([])
    first, second = sess.run([r, {"again": r}])
    assert first == second["again"]
    assert first != sess.run(r)


def test_sparse_tensor_gives_a_sparse_tensor_value(sess: tf.Session) -> None:
    """The value has three named arrays."""
    sparse = tf.SparseTensor([[0, 1]], [5.0], [1, 3])
    value = run_twice(sess, sparse)
    assert type(value) is tf.SparseTensorValue
    assert value.indices.tolist() == [[0, 1]]
    assert value.values.tolist() == [5.0]
    assert value.dense_shape.tolist() == [1, 3]


def test_indexed_slices_give_an_indexed_slices_value(sess: tf.Session) -> None:
    """A missing dense shape is None."""
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([3]))
    values, indices, dense_shape = run_twice(sess, slices)
    assert (values.tolist(), indices.tolist(), dense_shape) == ([1.0], [3], None)
    shaped = tf.IndexedSlices(tf.constant([1.0]), tf.constant([3]), tf.constant([7]))
    assert run_twice(sess, shaped).dense_shape.tolist() == [7]


def test_variables_can_be_fetched(sess: tf.Session) -> None:
    """Reference and resource variables give their values."""
    ref, resource = tf.Variable(1.5, use_resource=False), tf.Variable(2.5, use_resource=True)
    sess.run([ref.initializer, resource.initializer])
    assert run_twice(sess, [ref, resource]) == [1.5, 2.5]


# -- what may not be fetched -----------------------------------------------------------------------


@pytest.mark.parametrize("fetches", [None, [None], {"a": None}])
def test_none_is_refused(sess: tf.Session, fetches: Any) -> None:
    """None is refused, because it is often the result of a function without return."""
    tf.constant(1)
    with pytest.raises(TypeError, match='has invalid type "NoneType"'):
        sess.run(fetches)


@pytest.mark.parametrize("fetches", [37, 1.5, {1, 2}, [object()]])
def test_other_types_are_refused(sess: tf.Session, fetches: Any) -> None:
    """The message lists what may be fetched."""
    tf.constant(1)
    with pytest.raises(TypeError, match="must be a string or Tensor"):
        sess.run(fetches)


def test_tensor_of_another_graph_is_refused(sess: tf.Session) -> None:
    """The error says that the tensor belongs to another graph."""
    with tf.Graph().as_default():
        other = tf.constant(1)
    tf.constant(1)
    with pytest.raises(ValueError, match="is not an element of this graph"):
        sess.run(other)


def test_unknown_names_say_what_is_unknown(sess: tf.Session) -> None:
    """The error names the operation, or only its output."""
    tf.constant(1, name="a")
    with pytest.raises(ValueError, match="'nope', does not exist in the graph"):
        sess.run("nope:0")
    with pytest.raises(ValueError, match="exists but only has 1 outputs"):
        sess.run("a:3")


def test_what_is_marked_as_not_fetchable_is_refused(sess: tf.Session) -> None:
    """A marked tensor is refused also after it was fetched in the same session."""
    c = tf.constant(1.0)
    tf.get_default_graph().prevent_fetching(c.op)
    with pytest.raises(tf.errors.InaccessibleTensorError, match="marked as not fetchable"):
        sess.run(c)


# -- types taught to run ---------------------------------------------------------------------------


class Squared:
    """A registered type that is fetched as the square of a tensor and fed by its root."""

    def __init__(self, root: tf.Tensor) -> None:
        self.root = root
        self.square = tf.square(root)


def test_a_type_can_be_taught(sess: tf.Session) -> None:
    """A registered type is fetched, fed and used in partial runs; registering twice is refused."""
    register_session_run_conversion_functions(
        Squared,
        fetch_function=lambda squared: ([squared.square], lambda values: values[0] + 0.5),
        feed_function=lambda squared, value: [(squared.root, value)],
        feed_function_for_partial_run=lambda squared: [squared.root],
    )
    squared = Squared(tf.placeholder(tf.float32, []))
    assert run_twice(sess, squared, feed_dict={squared: 3.0}) == 9.5
    assert run_twice(sess, {"s": squared}, feed_dict={squared: 2.0}) == {"s": 4.5}
    handle = sess.partial_run_setup([squared], [squared])
    assert sess.partial_run(handle, squared, {squared: 4.0}) == 16.5
    with pytest.raises(ValueError, match="has already been registered"):
        register_session_run_conversion_functions(
            Squared, lambda squared: ([], lambda values: None)
        )


def test_no_thread_and_no_interrupt_misses_a_conversion_that_is_added_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first attempt is interrupted; another thread looks for it during the second one."""
    of_record = conversions.Conversion(Record, lambda record: ([record.x], list), None, None)
    calls = itertools.count(1)
    found = []

    def make() -> conversions.Conversion:
        number = next(calls)
        if number == 1:
            raise KeyboardInterrupt
        if number == 2:
            found.append(conversions.find(Record(1, 2)))
        return of_record

    monkeypatch.setattr(conversions, "_CONVERSIONS", [])
    monkeypatch.setattr(conversions, "_NOT_LOADED", {"sys": make})
    with pytest.raises(KeyboardInterrupt):
        conversions.find(Record(1, 2))
    assert conversions.find(Record(1, 2)) is of_record
    assert found == [of_record]
    assert not conversions._NOT_LOADED
