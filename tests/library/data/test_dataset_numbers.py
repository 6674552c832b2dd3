"""Numeric arguments of datasets: which are refused, with TensorFlow's message, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.joined import in_batches
from tfnb.framework.functions.function import Defun

_LARGEST = (1 << 63) - 1
_ANY = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape(None)]}


def _range(count: int) -> Any:
    return tf.data.Dataset.range(count)._variant_tensor


def _twice() -> Any:
    @Defun(tf.int64)
    def twice(x):
        return tf.data.Dataset.from_tensors(x).repeat(2)._variant_tensor

    return twice


# Valid inputs of each op.
_GOOD: dict[str, dict[str, Any]] = {
    "BatchDatasetV2": {"batch_size": 3, "drop_remainder": True},
    "ParallelBatchDataset": {"batch_size": 3, "num_parallel_calls": 2, "drop_remainder": True},
    "WindowDataset": {"size": 3, "shift": 2, "stride": 1, "drop_remainder": True},
    "SlidingWindowDataset": {"window_size": 3, "window_shift": 2, "window_stride": 1},
    "RepeatDataset": {"count": 2},
    "ShardDataset": {"num_shards": 2, "index": 0},
    "ShuffleDataset": {"buffer_size": 3, "seed": 1, "seed2": 2},
    "ShuffleAndRepeatDataset": {"buffer_size": 3, "seed": 1, "seed2": 2, "count": 2},
    "AssertCardinalityDataset": {"cardinality": 10},
    "RandomDataset": {"seed": 1, "seed2": 2},
    "RangeDataset": {"start": 0, "stop": 4, "step": 1},
    "SamplingDataset": {"rate": np.float32(0.5), "seed": 1, "seed2": 2},
    "MaxIntraOpParallelismDataset": {"max_intra_op_parallelism": 1},
    "PrivateThreadPoolDataset": {"num_threads": 1},
    "LatencyStatsDataset": {"tag": "x"},
    "CacheDataset": {"filename": ""},
    "InterleaveDataset": {"cycle_length": 2, "block_length": 1},
    "LegacyParallelInterleaveDatasetV2": {
        "cycle_length": 2,
        "block_length": 1,
        "buffer_output_elements": 1,
        "prefetch_input_elements": 1,
    },
    "ParallelInterleaveDatasetV4": {
        "cycle_length": 2,
        "block_length": 1,
        "buffer_output_elements": 1,
        "prefetch_input_elements": 1,
        "num_parallel_calls": 2,
    },
}


def _made(op: str, name: str = "", value: Any = None) -> tuple[Any, dict[Any, Any]]:
    """Return the dataset with its inputs fed, and the feeds; one input is replaced."""
    inputs: dict[str, Any] = {}
    feeds = {}
    for key, good in _GOOD[op].items():
        dtype = tf.int64 if isinstance(good, int) and not isinstance(good, bool) else None
        known = tf.constant(good, dtype)
        inputs[key] = tf.placeholder(known.dtype)
        feeds[inputs[key]] = value if key == name else good
    if op not in ("RandomDataset", "RangeDataset"):
        inputs["input_dataset"] = _range(10)
    if "Interleave" in op:
        inputs.update(f=_twice(), other_arguments=[])
    return getattr(tf.raw_ops, op)(**inputs, **_ANY), feeds


def _cardinality(op: str, name: str = "", value: Any = None) -> int:
    with tf.Graph().as_default(), tf.Session() as session:
        dataset, feeds = _made(op, name, value)
        return int(session.run(tf.raw_ops.DatasetCardinality(input_dataset=dataset), feeds))


@in_batches("number", [(op, name) for op, row in _GOOD.items() for name in row], told=" ".join)
def test_a_number_is_a_scalar(number: tuple[str, str]) -> None:
    """A vector is refused when the dataset is made; the error names the input."""
    op, name = number
    assert _cardinality(op) >= -2
    vector = [_GOOD[op][name]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} must be a scalar"):
        _cardinality(op, name, vector)


@pytest.mark.parametrize("op", ["BatchDatasetV2", "RangeDataset", "ShuffleDataset", "CacheDataset"])
def test_a_vector_that_is_known_is_refused_while_building(op: str) -> None:
    """The shape function refuses it; some ops have no such shape function."""
    inputs = {
        key: tf.constant([good], tf.int64 if type(good) is int else None)
        for key, good in _GOOD[op].items()
    }
    if op != "RangeDataset":
        inputs["input_dataset"] = _range(10)
    with pytest.raises(ValueError, match="must be rank 0 but is rank 1"):
        getattr(tf.raw_ops, op)(**inputs, **_ANY)


@pytest.mark.parametrize(
    ("op", "name", "value", "message"),
    [
        ("SlidingWindowDataset", "window_stride", 0, "window_stride must be greater than zero"),
        ("SlidingWindowDataset", "window_shift", -1, "Window shift must be greater than zero"),
        ("ShuffleDataset", "buffer_size", -1, "greater than zero or UNKNOWN_CARDINALITY"),
        ("ShuffleAndRepeatDataset", "count", 0, "greater than zero or equal to -1"),
        ("ShuffleAndRepeatDataset", "count", -2, "greater than zero or equal to -1"),
        ("MaxIntraOpParallelismDataset", "max_intra_op_parallelism", -1, "must be >= 0"),
        ("PrivateThreadPoolDataset", "num_threads", -1, "`num_threads` must be >= 0"),
        ("InterleaveDataset", "cycle_length", 0, "cycle_length must be greater than zero"),
        ("InterleaveDataset", "block_length", -1, "block_length must be greater than zero"),
        ("LegacyParallelInterleaveDatasetV2", "cycle_length", -1, "`cycle_length` must be > 0"),
        ("LegacyParallelInterleaveDatasetV2", "buffer_output_elements", 0, "must be > 0"),
        ("LegacyParallelInterleaveDatasetV2", "prefetch_input_elements", -1, "must be >= 0"),
        ("ParallelInterleaveDatasetV4", "cycle_length", 0, "AUTOTUNE` or greater than 0 but is 0"),
        ("ParallelInterleaveDatasetV4", "buffer_output_elements", 0, "AUTOTUNE` or > 0 but is 0"),
        ("ParallelInterleaveDatasetV4", "prefetch_input_elements", -2, "or >= 0 but is -2"),
        ("ParallelInterleaveDatasetV4", "num_parallel_calls", 0, "must be greater than zero"),
        ("ParallelInterleaveDatasetV4", "num_parallel_calls", 3, "is 3 and `cycle_length` is 2"),
    ],
)
def test_numbers_without_a_meaning_are_refused(
    op: str, name: str, value: int, message: str
) -> None:
    """-1 is accepted where it means an automatic choice."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _cardinality(op, name, value)


def test_a_shard_that_is_a_hint_is_for_others():
    """-1 stands for a number that a distribution strategy provides."""
    with pytest.raises(tf.errors.FailedPreconditionError, match="SHARD_HINT"):
        _cardinality("ShardDataset", "num_shards", -1)


@pytest.mark.parametrize(
    ("op", "name", "value", "count"),
    [
        ("ShuffleDataset", "buffer_size", -2, 10),
        ("RepeatDataset", "count", _LARGEST, -10),
        ("SlidingWindowDataset", "window_shift", 4, 2),
        ("SlidingWindowDataset", "window_size", 11, 5),
        ("RangeDataset", "stop", _LARGEST, -1),
        ("RangeDataset", "start", -_LARGEST - 1, 0),
        ("ParallelInterleaveDatasetV4", "cycle_length", -1, -2),
    ],
)
def test_elements_are_counted_in_64_bits(op: str, name: str, value: int, count: int) -> None:
    """An overflow has TensorFlow's result."""
    assert _cardinality(op, name, value) == count


def _elements(op: str, name: str, value: Any) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        dataset, feeds = _made(op, name, value)
        found = tf.data.experimental.from_variant(dataset, tf.TensorSpec(None, tf.int64))
        iterator = tf.data.make_initializable_iterator(found)
        session.run(iterator.initializer, feeds)
        element, elements = iterator.get_next(), []
        while True:
            try:
                elements.append(session.run(element).tolist())
            except tf.errors.OutOfRangeError:
                return elements


def test_a_window_beyond_the_end_needs_no_time():
    """Skipping any number of elements takes no time."""
    assert _elements("SlidingWindowDataset", "window_shift", _LARGEST) == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("count", "word"), [(-2, "at least 1 element"), (1, "1 element but .* at least 2 elements")]
)
def test_more_elements_than_were_said_are_refused(count: int, word: str) -> None:
    """The error comes with the first extra element."""
    with pytest.raises(tf.errors.FailedPreconditionError, match=word):
        _elements("AssertCardinalityDataset", "cardinality", count)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "complex64", "bool", "string"])
def test_a_range_is_cast(dtype: str) -> None:
    """The cast is that of C++; a missing range is an error of the first element."""
    kind = tf.as_dtype(dtype)
    numbers = tf.raw_ops.RangeDataset(
        start=tf.constant(-2, tf.int64),
        stop=tf.constant(1, tf.int64),
        step=tf.constant(1, tf.int64),
        output_types=[kind],
        output_shapes=[[]],
    )
    found = tf.data.experimental.from_variant(numbers, tf.TensorSpec([], kind))
    with tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(found)
        session.run(iterator.initializer)
        first = iterator.get_next()
        if dtype in ("bool", "string"):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported data type"):
                session.run(first)
        else:
            assert session.run(first) == np.int64(-2).astype(kind.as_numpy_dtype)


# ------------------------------------------------------------------------------ elements of a kind


def _given(variant: Any, dtype: Any = tf.int64) -> list[Any]:
    """Return the result of an iterator with these types on a dataset."""
    kinds: dict[str, Any] = {"output_types": [dtype], "output_shapes": [tf.TensorShape(None)]}
    iterator = tf.raw_ops.IteratorV2(shared_name="", container="", **kinds)
    begin = tf.raw_ops.MakeIterator(dataset=variant, iterator=iterator)
    element = tf.raw_ops.IteratorGetNext(iterator=iterator, **kinds)
    found = []
    with tf.Session() as session:
        session.run(begin)
        while True:
            try:
                found.append(session.run(element)[0].tolist())
            except tf.errors.OutOfRangeError:
                return found


def _halves() -> Any:
    return tf.data.Dataset.from_tensor_slices([0.5, 1.5])._variant_tensor


def _pairs() -> Any:
    return tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))._variant_tensor


@pytest.mark.parametrize("op", ["FilterDataset", "MapDataset", "TakeWhileDataset"])
def test_elements_are_of_the_types_that_an_iterator_gives(op: str) -> None:
    """The declaration of the node is not checked, the element is."""

    @Defun(tf.float32)
    def function(x):
        return x if op == "MapDataset" else x < 9.0

    name = "f" if op == "MapDataset" else "predicate"
    dataset = getattr(tf.raw_ops, op)(
        input_dataset=_halves(), other_arguments=[], **{name: function}, **_ANY
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected int64 but got float"):
        _given(dataset)


def test_what_a_node_says_of_elements_that_it_passes_on_does_not_count():
    """Counting needs no types, and an iterator checks the elements."""
    passed = tf.raw_ops.PrefetchDataset(
        input_dataset=_range(3), buffer_size=tf.constant(1, tf.int64),
        output_types=[tf.float32] * 2, output_shapes=[[7]] * 2,
    )  # fmt: skip
    with tf.Session() as session:
        assert session.run(tf.raw_ops.DatasetCardinality(input_dataset=passed)) == 3
    assert _given(passed) == [0, 1, 2]


@pytest.mark.parametrize("op", ["FilterDataset", "TakeWhileDataset"])
def test_a_predicate_may_be_a_vector_of_one(op: str) -> None:
    """A predicate may be a vector of one element, but not a number."""

    def filtered(answer: Any) -> list[Any]:
        @Defun(tf.int64)
        def predicate(x):
            return tf.constant(answer)

        return _given(
            getattr(tf.raw_ops, op)(
                input_dataset=_range(2), other_arguments=[], predicate=predicate, **_ANY
            )
        )

    assert filtered([True]) == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar bool"):
        filtered(1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.raw_ops.UniqueDataset(input_dataset=_halves(), **_ANY), "`tf.int32`, `tf.int"),
        (lambda: tf.raw_ops.UniqueDataset(input_dataset=_pairs(), **_ANY), "a single component"),
        (
            lambda: tf.raw_ops.DirectedInterleaveDataset(
                selector_input_dataset=_halves(), data_input_datasets=[_range(2)], **_ANY
            ),
            "dataset of scalar int64 elements",
        ),
        (
            lambda: tf.raw_ops.DirectedInterleaveDataset(
                selector_input_dataset=_range(1), data_input_datasets=[_range(2), _pairs()], **_ANY
            ),
            "First input has types int64, and input 1 has types int32, string",
        ),
        (
            lambda: tf.raw_ops.SparseTensorSliceDataset(
                indices=[[0, 0]], values=[1], dense_shape=[-1, 3]
            ),
            "to be non-negative, got -1",
        ),
        (
            lambda: tf.raw_ops.TFRecordDatasetV2(
                filenames="x", compression_type="", buffer_size=0, byte_offsets=0
            ),
            "must be of same size",
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused(make: Any, message: str) -> None:
    """Wrong inputs are refused when the dataset is made."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        with tf.Session() as session:
            session.run(tf.raw_ops.DatasetCardinality(input_dataset=make()))


def test_a_function_of_another_type_is_told_what_it_gets() -> None:
    """The first requested element raises InvalidArgumentError with the types."""

    @Defun(tf.float32)
    def doubled(x):
        return x * 2.0

    made = tf.raw_ops.MapDataset(
        input_dataset=_range(3), other_arguments=[], f=doubled,
        output_types=[tf.float32], output_shapes=[[]],
    )  # fmt: skip
    kinds = {"output_types": [tf.float32], "output_shapes": [[]]}
    iterator = tf.raw_ops.IteratorV2(shared_name="", container="", **kinds)
    element = tf.raw_ops.IteratorGetNext(iterator=iterator, **kinds)
    with tf.Session() as sess:
        sess.run(tf.raw_ops.MakeIterator(dataset=made, iterator=iterator))
        words = "Type mismatch: actual int64 vs. expect float"
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            sess.run(element)
