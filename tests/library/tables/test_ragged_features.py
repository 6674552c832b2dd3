"""``RaggedFeature``: values that other features divide into rows, for one message or many.

The expected values are TensorFlow's.
"""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

Ragged = tf.io.RaggedFeature


def example(**features):
    """A serialized Example."""
    message = tf.train.Example()
    for name, values in features.items():
        kind = "float_list" if values and isinstance(values[0], float) else "int64_list"
        getattr(message.features.feature[name], kind).value.extend(values)
    return message.SerializeToString()


MANY = example(
    v=[3, 1, 4, 1, 5, 9],
    splits=[0, 2, 3, 3, 6],
    lengths=[2, 1, 0, 3],
    starts=[0, 2, 3, 3],
    limits=[2, 3, 3, 6],
    ids=[0, 0, 1, 3, 3, 3],
    outer=[0, 2, 3, 4],
    f=[1.0, 2.0],
)
ONE = example(
    v=[2, 7], splits=[0, 2], lengths=[2], starts=[0], limits=[2], ids=[0, 0], outer=[0, 1]
)
NONE = example(splits=[0], outer=[0])

WAYS = {
    "splits": [Ragged.RowSplits("splits")],
    "lengths": [Ragged.RowLengths("lengths")],
    "starts": [Ragged.RowStarts("starts")],
    "limits": [Ragged.RowLimits("limits")],
    "ids": [Ragged.ValueRowIds("ids")],
}


@pytest.fixture(autouse=True)
def graph():
    """One of its own."""
    with tf.Graph().as_default():
        yield


def run(found):
    """The values as lists."""
    with tf.Session() as sess:
        return {name: value.to_list() for name, value in sess.run(found).items()}


@pytest.mark.parametrize("validate", [False, True])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("way", WAYS)
def test_partitions_of_every_kind_cut_values_into_rows(way, dtype, validate) -> None:
    """Each message has its own partition."""
    feature = Ragged(tf.int64, "v", WAYS[way], dtype, validate)
    batch = tf.io.parse_example([MANY, ONE, NONE], {"r": feature})
    single = tf.io.parse_single_example(MANY, {"r": feature})
    assert batch["r"].row_splits.dtype == dtype
    assert batch["r"].shape.as_list() == [3, None, None]
    rows = [[3, 1], [4], [], [1, 5, 9]]
    assert run(batch) == {"r": [rows, [[2, 7]], []]}
    assert run(single) == {"r": rows}


def test_partitions_nest() -> None:
    """The first partition is the outermost."""
    features = {
        "nested": Ragged(tf.int64, "v", [Ragged.RowSplits("outer"), Ragged.RowSplits("splits")]),
        "pairs": Ragged(tf.int64, "v", [Ragged.UniformRowLength(2)]),
        "boxes": Ragged(tf.int64, "v", [Ragged.UniformRowLength(1), Ragged.UniformRowLength(2)]),
        "f": Ragged(tf.float32),
        "v": Ragged(tf.int64),
    }
    assert run(tf.io.parse_example([MANY, ONE, NONE], features)) == {
        "nested": [[[[3, 1], [4]], [[]], [[1, 5, 9]]], [[[2, 7]]], []],
        "pairs": [[[3, 1], [4, 1], [5, 9]], [[2, 7]], []],
        "boxes": [[[[3, 1]], [[4, 1]], [[5, 9]]], [[[2, 7]]], []],
        "f": [[1.0, 2.0], [], []],
        "v": [[3, 1, 4, 1, 5, 9], [2, 7], []],
    }


def test_what_is_read_only_for_others_is_not_given() -> None:
    """For a single message the feature is a vector."""
    found = tf.io.parse_single_example(MANY, {"v": Ragged(tf.int64), "r": Ragged(tf.int64, "v")})
    assert sorted(found) == ["r", "v"]
    with tf.Session() as sess:
        assert sess.run(found["v"]).tolist() == [3, 1, 4, 1, 5, 9]


def test_sequences_have_ragged_features() -> None:
    """Contexts have them, and lists have a row for each element."""

    def sequence(context, lists):
        message = tf.train.SequenceExample()
        for name, values in context.items():
            message.context.feature[name].int64_list.value.extend(values)
        for name, rows in lists.items():
            for row in rows:
                new = message.feature_lists.feature_list[name].feature.add()
                new.int64_list.value.extend(row)
        return message.SerializeToString()

    first = sequence(
        {"c": [1, 2, 3], "cs": [0, 1, 3]}, {"v": [[1, 2, 3], [4]], "s": [[0, 2, 3], [0, 1]]}
    )
    second = sequence({"c": [], "cs": [0]}, {"v": [[5, 6]], "s": [[0, 0, 2]]})
    context = {"c": Ragged(tf.int64), "d": Ragged(tf.int64, "c", [Ragged.RowSplits("cs")])}
    lists = {
        "v": Ragged(tf.int64),
        "w": Ragged(tf.int64, "v", [Ragged.RowSplits("s")], validate=True),
        "u": Ragged(tf.int64, "v", [Ragged.UniformRowLength(1)]),
    }
    of_context, of_lists, _ = tf.io.parse_sequence_example([first, second], context, lists)
    assert run(of_context) == {"c": [[1, 2, 3], []], "d": [[[1], [2, 3]], []]}
    assert run(of_lists) == {
        "v": [[[1, 2, 3], [4]], [[5, 6]]],
        "w": [[[[1, 2], [3]], [[4]]], [[[], [5, 6]]]],
        "u": [[[[1], [2], [3]], [[4]]], [[[5], [6]]]],
    }
    of_context, of_lists = tf.io.parse_single_sequence_example(first, context, lists)
    assert run({"d": of_context["d"]}) == {"d": [[1], [2, 3]]}
    assert run(of_lists)["w"] == [[[1, 2], [3]], [[4]]]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"dtype": tf.int32}, ValueError, "must be int64, float32, or bytes"),
        ({"value_key": ""}, ValueError, "must not be empty"),
        ({"value_key": 3}, ValueError, "must be a string"),
        ({"row_splits_dtype": tf.float32}, ValueError, "must be int32 or int64"),
        ({"partitions": ["key"]}, TypeError, "partitions"),
        ({"partitions": 3}, TypeError, "partitions"),
        ({"validate": 1}, TypeError, "must be a bool"),
    ],
)
def test_features_that_mean_nothing_are_refused(arguments, error, text) -> None:
    """The error is raised when the feature is made."""
    with pytest.raises(error, match=text):
        Ragged(**{"dtype": tf.int64, **arguments})


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"w": Ragged(tf.float32, "v")}, "Conflicting type"),
        ({"w": Ragged(tf.int64, "v", row_splits_dtype=tf.int64)}, "Conflicting partition type"),
        ({"w": Ragged(tf.int64, "x"), "x": tf.io.VarLenFeature(tf.int64)}, "Ragged and sparse"),
        (
            {"w": Ragged(tf.int64, "x"), "x": tf.io.FixedLenFeature([], tf.int64)},
            "Dense and ragged",
        ),
    ],
)
def test_features_that_contradict_each_other_are_refused(other, text) -> None:
    """The error names both features."""
    with pytest.raises(ValueError, match=text):
        tf.io.parse_example([MANY], {"v": Ragged(tf.int64), **other})


def test_messages_of_unknown_number_have_no_ragged_features() -> None:
    """Their number of dimensions would be unknown."""
    with pytest.raises(ValueError, match="statically-known rank"):
        tf.io.parse_example(tf.placeholder(tf.string), {"v": Ragged(tf.int64)})


# ----------------------------------------------------------------------------------- in a pipeline

FEATURES = {
    "dense": tf.io.FixedLenFeature([2], tf.int64),
    "sparse": tf.io.VarLenFeature(tf.int64),
    "default": tf.io.FixedLenFeature([], tf.float32, 7.0),
    "padded": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    "ragged": Ragged(tf.int64, "sparse2"),
}


def messages():
    """Five messages."""
    return [
        example(
            dense=[i, i + 1],
            sparse=[5] * i,
            sparse2=list(range(i)),
            **({"padded": [1.0] * i} if i else {}),
            **({} if i == 1 else {"default": [i * 0.5]}),
        )
        for i in range(5)
    ]


def test_a_dataset_of_messages_becomes_one_of_features() -> None:
    """One op parses, as in TensorFlow, and one assembles the ragged features."""
    dataset = tf.data.Dataset.from_tensor_slices(messages()).batch(2)
    dataset = dataset.apply(tf.data.experimental.parse_example_dataset(FEATURES, 2))
    found = tf.data.make_one_shot_iterator(dataset).get_next()
    assert found["dense"].shape.as_list() == [None, 2]
    assert "ParseExampleDatasetV2" in {op.type for op in tf.get_default_graph().get_operations()}
    with tf.Session() as sess:
        first, second, third = (sess.run(found) for _ in range(3))
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(found)
    assert first["dense"].tolist() == [[0, 1], [1, 2]]
    assert first["default"].tolist() == [0.0, 7.0]
    assert first["ragged"].to_list() == [[], [0]]
    assert second["padded"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert second["sparse"].indices.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]
    assert second["sparse"].dense_shape.tolist() == [2, 3]
    assert third["ragged"].to_list() == [[0, 1, 2, 3]]
    assert third["default"].tolist() == [2.0]


def parsed(dataset, **changed):
    """Build the op of pipelines, reading one number per message."""
    attrs = {
        "num_parallel_calls": 1,
        "dense_defaults": [tf.constant([], tf.int64)],
        "sparse_keys": [],
        "dense_keys": ["dense"],
        "sparse_types": [],
        "dense_shapes": [[2]],
        "output_types": [tf.int64],
        "output_shapes": [[None, 2]],
        **changed,
    }
    types, shapes = attrs["output_types"], attrs["output_shapes"]
    variant = tf.raw_ops.ParseExampleDatasetV2(input_dataset=dataset._variant_tensor, **attrs)
    iterator = tf.raw_ops.IteratorV2(
        shared_name="", container="", output_types=types, output_shapes=shapes
    )
    with tf.control_dependencies([tf.raw_ops.MakeIterator(dataset=variant, iterator=iterator)]):
        return tf.raw_ops.IteratorGetNext(
            iterator=iterator, output_types=types, output_shapes=shapes
        )


def test_every_text_of_an_element_is_a_message() -> None:
    """Elements may have any shape and any number of components."""
    one, two, *_ = messages()
    with tf.Session() as sess:
        for element in (one, [one], [[one]]):
            found = parsed(tf.data.Dataset.from_tensors(element))
            assert sess.run(found)[0].tolist() == [[0, 1]]
        found = parsed(tf.data.Dataset.from_tensors(([one], two)))
        assert sess.run(found)[0].tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"num_parallel_calls": 0}, tf.errors.InvalidArgumentError, "greater than zero"),
        ({"num_parallel_calls": -2}, tf.errors.InvalidArgumentError, "greater than zero"),
        ({"dense_keys": ["x"]}, tf.errors.InvalidArgumentError, "Feature: x .*is required"),
        ({"dense_keys": ["a", "b"]}, tf.errors.InvalidArgumentError, "1 vs. 2"),
        ({"dense_shapes": []}, tf.errors.InvalidArgumentError, "0 vs. 1"),
        ({"dense_defaults": [np.array([1])]}, tf.errors.InvalidArgumentError, "not compatible"),
        ({"output_types": [tf.float32]}, tf.errors.InvalidArgumentError, "wrong type"),
        ({"output_shapes": [[7, 2]]}, tf.errors.InvalidArgumentError, "wrong shape"),
        (
            {"output_types": [tf.int64] * 2, "output_shapes": [[None, 2]] * 2},
            tf.errors.InternalError,
            "Expected 2 components but got 1",
        ),
    ],
)
def test_a_pipeline_that_parses_something_else_is_refused(changed, error, text) -> None:
    """The error's class is TensorFlow's."""
    found = parsed(tf.data.Dataset.from_tensors(messages()), **changed)
    with tf.Session() as sess, pytest.raises(error, match=text):
        sess.run(found)


def test_a_pipeline_of_numbers_is_not_parsed() -> None:
    """Numbers are not serialized messages."""
    found = parsed(tf.data.Dataset.from_tensors([1, 2]))
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="strings"):
        sess.run(found)
