"""Examples, CSV lines and raw bytes become tensors, or errors with their place."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.proto import example_pb2


def example(**features):
    """Return a serialized Example; the kind follows from the first value."""
    message = example_pb2.Example()
    for key, values in features.items():
        feature = message.features.feature[key]
        if values and isinstance(values[0], bytes):
            feature.bytes_list.value.extend(values)
        elif values and isinstance(values[0], int):
            feature.int64_list.value.extend(values)
        else:
            feature.float_list.value.extend(values)
    return message.SerializeToString()


@pytest.fixture
def sess():
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


FEATURES = {
    "x": tf.FixedLenFeature([2], tf.float32),
    "label": tf.FixedLenFeature([], tf.int64, default_value=-1),
    "words": tf.VarLenFeature(tf.string),
}


def test_dense_and_sparse_columns_come_out_of_a_batch(sess):
    """A missing feature has its default; a sparse one has a list of indices."""
    data = [
        example(x=[1.0, 2.0], label=[7], words=[b"a", b"b"]),
        example(x=[3.0, 4.0]),
        example(x=[5.0, 6.0], words=[b"c"]),
    ]
    found = sess.run(tf.parse_example(tf.constant(data), FEATURES))
    assert found["x"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert found["label"].tolist() == [7, -1, -1]
    words = found["words"]
    assert words.indices.tolist() == [[0, 0], [0, 1], [2, 0]]
    assert words.values.tolist() == [b"a", b"b", b"c"]
    assert words.dense_shape.tolist() == [3, 2]


def test_one_example_has_no_batch(sess):
    """parse_single_example gives tensors without a batch dimension."""
    found = sess.run(tf.parse_single_example(example(x=[1.0, 2.0], words=[b"a"]), FEATURES))
    assert found["x"].tolist() == [1, 2]
    assert found["label"] == -1
    assert (found["words"].indices.tolist(), found["words"].dense_shape.tolist()) == ([[0]], [1])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xff", "Could not parse example input"),
        (example(label=[1]), "Feature: x .* is required but could not be found"),
        (example(x=[1.0]), r"values != expected.  Values size: 1 but output shape: \[2\]"),
        (example(x=[1, 2]), r"Data types don't match. Data type: int64 but expected type: float"),
    ],
)
def test_an_example_that_does_not_fit_is_refused(sess, data, message):
    """Invalid bytes, a missing feature, too few values and another kind are errors."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        sess.run(tf.parse_example([data], FEATURES))


def test_csv_fields_take_their_columns_types_and_defaults(sess):
    """Quotes are parsed; an empty field has the default."""
    lines = ["1,2.5,a", '2,,"x, y"', ",4,"]
    columns = tf.decode_csv(lines, [[0], [9.0], ["-"]])
    ints, floats, texts = sess.run(columns)
    assert (ints.tolist(), floats.tolist()) == ([1, 2, 0], [2.5, 9.0, 4.0])
    assert texts.tolist() == [b"a", b"x, y", b"-"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1", "Expect 2 fields but have 1 in record 0"),
        ("x,1", "Field 0 in record 0 is not a valid int32: x"),
        (",1", "Field 0 is required but missing in record 0"),
    ],
)
def test_a_csv_line_that_does_not_fit_is_refused(sess, line, message):
    """Too few fields, invalid numbers and missing required fields are errors."""
    columns = tf.decode_csv([line], [tf.constant([], tf.int32), [0.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        sess.run(columns)


def test_bytes_are_read_as_numbers_in_either_order(sess):
    """Both byte orders are read."""
    data = np.array([1, 258], "<i2").tobytes()
    little = tf.decode_raw([data], tf.int16)
    big = tf.decode_raw([data], tf.int16, little_endian=False)
    assert [v.tolist() for v in sess.run([little, big])] == [[[1, 258]], [[256, 513]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a multiple of 4"):
        sess.run(tf.decode_raw([b"abc"], tf.int32))


def test_a_tensor_survives_serialization(sess):
    """Another dtype is refused."""
    text = tf.serialize_tensor(tf.constant([[1.5, 2.5]]))
    assert sess.run(tf.parse_tensor(text, tf.float32)).tolist() == [[1.5, 2.5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch"):
        sess.run(tf.parse_tensor(text, tf.int32))
