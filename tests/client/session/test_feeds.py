"""Which tensors may be fed, how values are converted, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


class Arraylike:
    """An object that NumPy converts to an array."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Give the array."""
        return np.array([[1, 2]], dtype)


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def fed(sess: tf.Session, dtype: Any, value: Any, shape: Any = None) -> Any:
    """Return the value that a placeholder passes on, with a new and with a kept call plan."""
    x = tf.placeholder(dtype, shape)
    y = tf.identity(x)
    first, second = sess.run(y, {x: value}), sess.run(y, {x: value})
    assert repr(first) == repr(second)
    return second


# -- keys ------------------------------------------------------------------------------------------


def test_tensors_and_their_names_are_keys(sess: tf.Session) -> None:
    """A tensor and its name are the same key."""
    x = tf.placeholder(tf.float32, name="x")
    y = x + 1.0
    for key in (x, "x:0", x.name):
        assert sess.run(y, {key: 2.0}) == 3.0
        assert sess.run(y, feed_dict={key: 3.0}) == 4.0


def test_a_name_without_port_is_no_key(sess: tf.Session) -> None:
    """A name without port means an operation, which cannot be fed."""
    x = tf.placeholder(tf.float32, name="x")
    with pytest.raises(
        TypeError, match=r"Cannot interpret feed_dict key as Tensor.*Operation, not a"
    ):
        sess.run(x + 1.0, {"x": 2.0})
    with pytest.raises(TypeError, match=r"Cannot interpret feed_dict key as Tensor.*Operation"):
        sess.run(x + 1.0, {x.op: 2.0})


@pytest.mark.parametrize("key", ["zz:0", None, 3])
def test_unknown_keys_are_refused(sess: tf.Session, key: Any) -> None:
    """Keys that are not tensors of this graph are refused."""
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        sess.run(tf.constant(1.0), {key: 2.0})


def test_key_of_another_graph_is_refused(sess: tf.Session) -> None:
    """A tensor of another graph is unknown here."""
    with tf.Graph().as_default():
        other = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match=r"Cannot interpret feed_dict key.*not an element of this"):
        sess.run(tf.constant(1.0), {other: 2.0})


def test_feed_dict_must_be_a_mapping(sess: tf.Session) -> None:
    """A list of pairs is refused."""
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match=r"`feed_dict` must be a dictionary.*list"):
        sess.run(x + 1.0, [(x, 2.0)])


def test_any_tensor_may_be_fed(sess: tf.Session) -> None:
    """The inputs of a fed tensor need no values."""
    x = tf.placeholder(tf.float32)
    doubled = x * 2.0
    y = doubled + 1.0
    assert sess.run(y, {doubled: 10.0}) == 11.0
    c = tf.constant(1.0)
    assert sess.run(c + 1.0, {c: 7.0}) == 8.0


def test_variables_may_be_fed(sess: tf.Session) -> None:
    """The fed value applies to this run only, and the variable need not be initialized."""
    v = tf.Variable(3.0, use_resource=False)
    y = v * 2.0
    assert sess.run(y, {v: 10.0}) == 20.0
    sess.run(v.initializer)
    assert sess.run(y) == 6.0


def test_nested_tuples_are_keys(sess: tf.Session) -> None:
    """Nested keys and values are matched part by part."""
    a, b, c = (tf.placeholder(tf.float32) for _ in range(3))
    total = a + 10.0 * b + 100.0 * c
    assert sess.run(total, {(a, (b, c)): (1.0, [2.0, 3.0])}) == 321.0
    assert sess.run(total, {(a, b): [1.0, 2.0], c: 3.0}) == 321.0


def test_nested_key_and_value_must_match(sess: tf.Session) -> None:
    """The message has both counts."""
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="Key had 2 elements, but value had 3 elements"):
        sess.run(a + b, {(a, b): (1.0, 2.0, 3.0)})
    with pytest.raises(ValueError, match=r"key .* is not unique"):
        sess.run(a + b, {(a, b): (1.0, 2.0), a: 3.0})


def test_sparse_tensors_are_keys(sess: tf.Session) -> None:
    """A SparseTensorValue or a triple feeds a sparse tensor."""
    sparse = tf.sparse_placeholder(tf.float32)
    parts = [sparse.indices, sparse.values]
    for value in (tf.SparseTensorValue([[0, 1]], [5.0], [1, 3]), ([[0, 1]], [5.0], [1, 3])):
        indices, values = sess.run(parts, {sparse: value})
        assert (indices.tolist(), values.tolist()) == ([[0, 1]], [5.0])


def test_indexed_slices_are_keys(sess: tf.Session) -> None:
    """Values and indices feed IndexedSlices."""
    slices = tf.IndexedSlices(tf.placeholder(tf.float32), tf.placeholder(tf.int32))
    values = sess.run(slices, {slices: ([7.0], [2])})
    assert (values.values.tolist(), values.indices.tolist()) == ([7.0], [2])


def test_what_may_not_be_fed_is_refused(sess: tf.Session) -> None:
    """A tensor is refused from the moment it is marked, also if it was fed before."""
    x = tf.placeholder(tf.float32, name="x")
    y = x + 1.0
    assert sess.run(y, {x: 1.0}) == 2.0
    tf.get_default_graph().prevent_feeding(x)
    with pytest.raises(ValueError, match=r"Tensor x:0 may not be fed\."):
        sess.run(y, {x: 1.0})


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (tf.float32, 1.5, np.float32(1.5)),
        (tf.float32, 2, np.float32(2)),
        (tf.float32, np.float64(1.5), np.float32(1.5)),
        (tf.float64, np.float32(1.5), np.float64(1.5)),
        (tf.int32, 1.7, np.int32(1)),
        (tf.int64, True, np.int64(1)),
        (tf.bool, True, np.bool_(True)),
        (tf.complex64, 1.5, np.complex64(1.5)),
        (tf.float16, 0.5, np.float16(0.5)),
        (tf.uint8, 255, np.uint8(255)),
    ],
)
def test_scalars_are_converted(sess: tf.Session, dtype: Any, value: Any, expected: Any) -> None:
    """A scalar is converted to the dtype of the tensor, whether its shape is known or not."""
    for shape in (None, []):
        got = fed(sess, dtype, value, shape)
        assert (type(expected), expected) == (type(got), got)


def test_bfloat16_is_converted(sess: tf.Session) -> None:
    """Values for bfloat16, which ml_dtypes defines, are converted like NumPy's own dtypes."""
    assert isinstance(fed(sess, tf.bfloat16, 1.5), tf.bfloat16.as_numpy_dtype)


@pytest.mark.parametrize(
    "value", [[[1.0, 2.0]], ((1, 2),), np.array([[1, 2]]), [np.float32([1, 2])], Arraylike()]
)
def test_arrays_and_lists_are_converted(sess: tf.Session, value: Any) -> None:
    """Arrays, lists and array-like objects of a matching shape are accepted."""
    for shape in (None, [None, 2], [1, 2]):
        got = fed(sess, tf.float32, value, shape)
        assert np.float32 == got.dtype
        assert got.tolist() == [[1.0, 2.0]]


def test_strings_become_bytes(sess: tf.Session) -> None:
    """Text is encoded as UTF-8; embedded zeros stay."""
    assert "é".encode() == fed(sess, tf.string, "é")
    assert fed(sess, tf.string, b"a\0b") == b"a\0b"
    assert fed(sess, tf.string, np.array(["a", "bc"])).tolist() == [b"a", b"bc"]
    assert [[b"a"], ["ü".encode()]] == fed(sess, tf.string, [[b"a"], ["ü"]]).tolist()


def test_arrays_of_text_and_of_bytes_may_be_mixed_empty_or_strided(sess: tf.Session) -> None:
    """Arrays of one type are converted at once, others element by element."""
    mixed = np.array([["a", b"b"], ["ü", np.bytes_(b"d")]], object)
    assert fed(sess, tf.string, mixed).tolist() == [[b"a", b"b"], ["ü".encode(), b"d"]]
    assert fed(sess, tf.string, mixed.T[:, ::-1]).tolist() == [["ü".encode(), b"a"], [b"d", b"b"]]
    assert fed(sess, tf.string, np.array([b"a", b"bc"])[::-1]).tolist() == [b"bc", b"a"]
    assert fed(sess, tf.string, np.empty([0, 2], object)).shape == (0, 2)
    texts = np.array(["a", "b"], object)
    assert fed(sess, tf.string, texts).tolist() == [b"a", b"b"]
    assert texts.tolist() == ["a", "b"]
    with pytest.raises(UnicodeEncodeError, match="surrogate"):
        fed(sess, tf.string, np.array(["a", "\ud800"], object))


def test_other_objects_are_no_strings(sess: tf.Session) -> None:
    """A number among strings is refused."""
    with pytest.raises(tf.errors.InternalError, match="Unsupported object type int"):
        fed(sess, tf.string, ["a", 1])


@pytest.mark.parametrize(
    ("dtype", "value"), [(tf.int8, 1000), (tf.uint8, -1), (tf.bool, 3), (tf.int32, 2**31)]
)
def test_int_that_does_not_fit_is_refused(sess: tf.Session, dtype: Any, value: int) -> None:
    """The message names a wider type."""
    with pytest.raises(TypeError, match=r"is not compatible with Tensor type.*int64"):
        fed(sess, dtype, value)


def test_numbers_of_a_list_wrap_around(sess: tf.Session) -> None:
    """Only a single int is checked, numbers in a list wrap around, as in TensorFlow."""
    assert fed(sess, tf.int8, [1000]).tolist() == [-24]


def test_a_tensor_is_no_value(sess: tf.Session) -> None:
    """A tensor as a value is refused; the message says to run it first."""
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match=r"The value of a feed cannot be a tf\.Tensor object"):
        sess.run(x + 1.0, {x: tf.constant(1.0)})


def test_text_is_no_number(sess: tf.Session) -> None:
    """Text for a number raises NumPy's error."""
    with pytest.raises(ValueError, match="could not convert string to float"):
        fed(sess, tf.float32, "abc")


@pytest.mark.parametrize(
    ("shape", "value", "match"),
    [
        ([2], [1, 2, 3], r"value of shape \(3,\) for Tensor x:0, which has shape \(2,\)"),
        ([], [1.0], r"value of shape \(1,\) for Tensor x:0, which has shape \(\)"),
        ([None, 3], 1.0, r"value of shape \(\) for Tensor x:0, which has shape \(\?, 3\)"),
        ([None, 3], [[1, 2]], r"value of shape \(1, 2\) for Tensor x:0"),
        ([None, 3], [1, 2, 3], r"batch axis seems to be missing: feed x\[None\]"),
        ([None, 3, 1], [[1, 2, 3]], r"last axis seems to be missing: feed x\[\.\.\., None\]"),
        ([3], [[1, 2, 3]], r"one axis too many: feed x\[0\]"),
        ([3], [[1], [2], [3]], r"one axis too many: feed x\[\.\.\., 0\]"),
    ],
)
def test_wrong_shapes_are_refused(sess: tf.Session, shape: Any, value: Any, match: str) -> None:
    """A wrong shape is refused in every run before the step, with a remedy where one is known."""
    x = tf.placeholder(tf.float32, shape, name="x")
    y = tf.identity(x)
    for _ in range(2):
        with pytest.raises(ValueError, match=match):
            sess.run(y, {x: value})


def test_a_shape_set_later_counts(sess: tf.Session) -> None:
    """A static shape set later applies also to kept call plans."""
    x = tf.placeholder(tf.float32, name="x")
    y = tf.identity(x)
    assert sess.run(y, {x: [1.0]}).tolist() == [1.0]
    x.set_shape([2])
    for value in ([1.0], 1.0):
        with pytest.raises(ValueError, match=r"value of shape \(1?,?\) for Tensor x:0"):
            sess.run(y, {x: value})


# -- lent, not given -------------------------------------------------------------------------------


def test_fetched_values_do_not_share_memory_with_feeds(sess: tf.Session) -> None:
    """Writing into a result does not change the array that was fed."""
    x = tf.placeholder(tf.float32, [2])
    array = np.float32([1, 2])
    for y in (x, tf.identity(x), tf.reshape(x, [2, 1])):
        value = sess.run(y, {x: array})
        value[...] = 77
        assert array.tolist() == [1.0, 2.0]


def test_fed_array_may_be_refilled_after_the_run(sess: tf.Session) -> None:
    """A variable keeps the fed value when the user changes the array."""
    x = tf.placeholder(tf.float32, [2])
    for use_resource in (False, True):
        v = tf.Variable(tf.zeros([2]), use_resource=use_resource)
        buffer = np.float32([1, 2])
        sess.run(v.initializer)
        sess.run(tf.assign(v, x), {x: buffer})
        buffer[...] = 77
        assert sess.run(v).tolist() == [1.0, 2.0]


def test_queued_array_may_be_refilled_after_the_run(sess: tf.Session) -> None:
    """A queue keeps the fed value when the user changes the array."""
    x = tf.placeholder(tf.float32, [2])
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[2]])
    buffer = np.float32([1, 2])
    sess.run(queue.enqueue(x), {x: buffer})
    buffer[...] = 77
    assert sess.run(queue.dequeue()).tolist() == [1.0, 2.0]


def test_fed_array_stays_writable_for_the_user(sess: tf.Session) -> None:
    """Only the runtime's view is read-only."""
    x = tf.placeholder(tf.float32, [2])
    array = np.float32([1, 2])
    sess.run(tf.identity(x), {x: array})
    array[0] = 5.0
    assert array.flags.writeable


# -- fed and fetched -------------------------------------------------------------------------------


def test_fed_tensor_is_answered_from_the_feed(sess: tf.Session) -> None:
    """The result is a 0-d array of the tensor's dtype; the runtime does not run."""
    x = tf.placeholder(tf.float32)
    for _ in range(2):
        value, plus = sess.run([x, x + 1.0], {x: 5})
        assert (np.ndarray, np.float32, ()) == (type(value), value.dtype, value.shape)
        assert (value, plus) == (5.0, 6.0)
    assert sess.run(x, {x: 2.0}) == 2.0


def test_fed_text_is_answered_as_text(sess: tf.Session) -> None:
    """A fed and fetched text is returned as text, because no op has converted it."""
    x = tf.placeholder(tf.string)
    assert sess.run(x, {x: "é"})[()] == "é"


def test_feeds_without_fetches_run_nothing(sess: tf.Session) -> None:
    """A run with feeds and without fetches does not reach the runtime."""
    assert sess.run([], {tf.placeholder(tf.float32): 1.0}) == []


def test_two_spellings_of_one_tensor_count_as_one(sess: tf.Session) -> None:
    """If a tensor and its name are both keys, the later one applies."""
    x = tf.placeholder(tf.float32, name="x")
    y = x + 1.0
    for _ in range(2):
        assert sess.run(y, {x: 1.0, "x:0": 2.0}) == 3.0
