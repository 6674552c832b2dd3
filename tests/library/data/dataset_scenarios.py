"""Pipelines of datasets, built and run in the same way with TensorFlow and with tfnb.

A program of ``PIPELINES`` returns a dataset: its nodes, the types and shapes of its elements, its
cardinality and the elements of two epochs are compared, or the error while building. A program of
``ITERATORS`` gets a session and returns its observations. ``scripts/oracle/datasets.py`` stores
TensorFlow's results.
"""

from __future__ import annotations

import collections
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ops.waiting.pipeline_scenarios import attempt, described_error, nodes_of, plain

if TYPE_CHECKING:
    from collections.abc import Callable

PIPELINES: dict[str, Callable[[Any], Any]] = {}
ITERATORS: dict[str, Callable[[Any, Any], Any]] = {}
_MOST_ELEMENTS = 40


def answer_of_pipeline(tf: Any, program: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what a program of ``PIPELINES`` builds, and its elements."""
    with tf.Graph().as_default() as built:
        try:
            dataset = program(tf)
        except (ValueError, TypeError, RuntimeError) as error:
            return {"error": described_error(error)}
        iterator = tf.data.make_initializable_iterator(dataset)
        element = iterator.get_next()
        nodes = nodes_of(built)
        cardinality = tf.data.experimental.cardinality(dataset)
        with tf.Session() as sess:
            return {
                "nodes": {name: _without_numbers(node) for name, node in nodes.items()},
                "types": str(tf.data.get_output_types(dataset)),
                "shapes": str(tf.data.get_output_shapes(dataset)),
                "cardinality": attempt(tf, lambda: int(sess.run(cardinality))),
                "epochs": [plain(_epoch(tf, sess, iterator, element)) for _ in range(2)],
            }


def _without_numbers(node: list[Any]) -> list[Any]:
    """Return a node whose function names lack the numbers of the process's counter."""
    op, inputs, device, attrs = node
    plain_attrs = {}
    for key, value in attrs.items():
        text = re.sub(r'"(__inference_[A-Za-z0-9_]*?)_\d+"', r'"\1"', value)
        plain_attrs[key] = re.sub(r'"_make_dataset_[^"]*"', '"_make_dataset"', text)
    return [op, inputs, device, plain_attrs]


def _epoch(tf: Any, sess: Any, iterator: Any, element: Any) -> list[Any]:
    """Return the elements after an initialization, and the error at their end."""
    seen: list[Any] = []
    try:
        sess.run(iterator.initializer)
        while len(seen) < _MOST_ELEMENTS:
            value = sess.run(element)
            seen.append(_as_plain(value))
    except tf.errors.OutOfRangeError as error:
        seen.append(described_error(error))
    except tf.errors.OpError as error:
        seen.append(described_error(error)[:1])
    return seen


def _as_plain(value: Any) -> Any:
    if hasattr(value, "dense_shape"):
        return [plain(value.indices), plain(value.values), plain(value.dense_shape)]
    if isinstance(value, tuple):
        return [_as_plain(one) for one in value]
    return plain(value)


def pipeline(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a program whose dataset is compared."""
    PIPELINES[program.__name__.removeprefix("_")] = program
    return program


def iterators(program: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Register a program whose observations are compared."""
    ITERATORS[program.__name__.removeprefix("_")] = program
    return program


Pair = collections.namedtuple("Pair", ["first", "second"])  # noqa: PYI024  # as users have them

# ------------------------------------------------------------------------------ many in a few lines

_SHORT: dict[str, Callable[[Any], Any]] = {
    "tensors": lambda tf: tf.data.Dataset.from_tensors((1, [2.0, 3.0], "x")),
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4], [5, 6]]),
    "slices_of_dict": lambda tf: tf.data.Dataset.from_tensor_slices(
        {"b": np.arange(3.0), "a": (np.arange(3), ["x", "y", "z"])}
    ),
    "slices_of_namedtuple": lambda tf: tf.data.Dataset.from_tensor_slices(Pair([1, 2], [3, 4])),
    "slices_that_differ": lambda tf: tf.data.Dataset.from_tensor_slices(([1, 2], [1, 2, 3])),
    "slices_of_scalar": lambda tf: tf.data.Dataset.from_tensor_slices(1),
    "range_1": lambda tf: tf.data.Dataset.range(4),
    "range_2": lambda tf: tf.data.Dataset.range(2, 5),
    "range_3": lambda tf: tf.data.Dataset.range(9, 1, -3),
    "range_nothing": lambda tf: tf.data.Dataset.range(3, 1),
    "range_float": lambda tf: tf.data.Dataset.range(3, output_type=tf.float32),
    "range_step_0": lambda tf: tf.data.Dataset.range(0, 3, _fed(tf, 0)),
    "map": lambda tf: tf.data.Dataset.range(4).map(lambda x: x * 2),
    "map_captures": lambda tf: tf.data.Dataset.range(4).map(_plus(tf.constant(3, tf.int64))),
    "map_to_dict": lambda tf: tf.data.Dataset.range(3).map(lambda x: {"a": x, "b": (x, x + 1)}),
    "map_of_dict": lambda tf: tf.data.Dataset.from_tensor_slices({"a": [1, 2]}).map(
        lambda d: d["a"] + 1
    ),
    "map_of_pair": lambda tf: tf.data.Dataset.from_tensor_slices(([1, 2], [3, 4])).map(
        lambda x, y: x * y
    ),
    "map_of_namedtuple": lambda tf: tf.data.Dataset.from_tensor_slices(Pair([1, 2], [3, 4])).map(
        lambda pair: pair.first - pair.second
    ),
    "map_to_list": lambda tf: tf.data.Dataset.range(3).map(lambda x: [x, x + 1]),
    "map_to_numbers": lambda tf: tf.data.Dataset.range(3).map(lambda x: (7, [1.0, 2.0])),
    "map_to_none": lambda tf: tf.data.Dataset.range(3).map(lambda x: None),
    "map_parallel": lambda tf: tf.data.Dataset.range(9).map(
        lambda x: x * x, num_parallel_calls=3
    ),
    "map_fails": lambda tf: _with_failure(tf),
    "unique": lambda tf: tf.data.Dataset.from_tensor_slices(["a", "b", "a", "c"]).apply(
        tf.data.experimental.unique()
    ),
    "unique_of_rows": lambda tf: tf.data.Dataset.from_tensor_slices([[1, 2], [2, 1], [1, 2]]).apply(
        tf.data.experimental.unique()
    ),
    "unique_of_floats": lambda tf: tf.data.Dataset.from_tensors(1.0).apply(
        tf.data.experimental.unique()
    ),
    "map_fails_ignored": lambda tf: _with_failure(tf).apply(tf.data.experimental.ignore_errors()),
    "map_random": lambda tf: tf.data.Dataset.range(3)
    .map(lambda x: tf.random_uniform([], seed=1))
    .repeat(2),
    "map_to_sparse": lambda tf: tf.data.Dataset.range(3).map(
        lambda x: tf.SparseTensor([[x]], [x + 1], [4])
    ),
    "map_sparse_batch": lambda tf: tf.data.Dataset.range(3)
    .map(lambda x: tf.SparseTensor([[x]], [x + 1], [4]))
    .batch(2)
    .map(lambda s: tf.sparse.to_dense(s)),
    "sparse_slices": lambda tf: tf.data.Dataset.from_tensor_slices(
        tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    ),
    "sparse_tensor_slices": lambda tf: tf.data.Dataset.from_sparse_tensor_slices(
        tf.SparseTensor([[0, 1], [2, 0], [2, 1]], [5, 6, 7], [4, 2])
    ),
    "flat_map": lambda tf: tf.data.Dataset.range(4).flat_map(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x)
    ),
    "interleave": lambda tf: tf.data.Dataset.range(1, 6).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x), cycle_length=2, block_length=2
    ),
    "interleave_parallel": lambda tf: tf.data.Dataset.range(1, 6).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x), 3, 1, num_parallel_calls=2
    ),
    "parallel_interleave": lambda tf: tf.data.Dataset.range(1, 6).apply(
        tf.data.experimental.parallel_interleave(
            lambda x: tf.data.Dataset.from_tensors(x).repeat(x), 2, 2
        )
    ),
    "filter": lambda tf: tf.data.Dataset.range(7).filter(lambda x: tf.equal(x % 3, 0)),
    "filter_no_bool": lambda tf: tf.data.Dataset.range(7).filter(lambda x: x),
    "filter_no_scalar": lambda tf: tf.data.Dataset.range(7).filter(lambda x: tf.fill([2], x > 1)),
    "take_while": lambda tf: tf.data.Dataset.range(7).apply(
        tf.data.experimental.take_while(lambda x: x < 3)
    ),
    "scan": lambda tf: tf.data.Dataset.range(5).apply(
        tf.data.experimental.scan(np.int64(0), lambda state, x: (state + x, state * 10 + x))
    ),
    "batch": lambda tf: tf.data.Dataset.range(5).batch(2),
    "batch_drop": lambda tf: tf.data.Dataset.range(5).batch(2, drop_remainder=True),
    "batch_strings": lambda tf: tf.data.Dataset.from_tensor_slices(["a", "bc", ""]).batch(2),
    "batch_0": lambda tf: tf.data.Dataset.range(5).batch(_fed(tf, 0)),
    "batch_that_differ": lambda tf: tf.data.Dataset.range(3).map(lambda x: tf.range(x)).batch(2),
    "batch_twice": lambda tf: tf.data.Dataset.range(7).batch(2).batch(2, drop_remainder=True),
    "batch_parallel": lambda tf: tf.data.Dataset.range(5).batch(2, num_parallel_calls=2),
    "padded_batch": lambda tf: tf.data.Dataset.range(1, 6)
    .map(lambda x: tf.fill([x], x))
    .padded_batch(2, padded_shapes=[None]),
    "padded_batch_values": lambda tf: tf.data.Dataset.from_tensor_slices(
        ([1, 2, 3], ["a", "b", ""])
    )
    .map(lambda x, s: (tf.fill([x], x), s))
    .padded_batch(2, ([4], []), (-1, "q")),
    "padded_batch_dict": lambda tf: tf.data.Dataset.from_tensors(
        {"a": np.ones([2, 3])}
    ).padded_batch(2, {"a": [None, 5]}, {"a": np.float64(7)}, drop_remainder=False),
    "padded_batch_static": lambda tf: tf.data.Dataset.from_tensor_slices(
        [[1, 2], [3, 4]]
    ).padded_batch(2),
    "padded_batch_smaller": lambda tf: tf.data.Dataset.from_tensor_slices(
        [[1, 2], [3, 4]]
    ).padded_batch(2, [1]),
    "padded_batch_too_small": lambda tf: tf.data.Dataset.range(1, 4)
    .map(lambda x: tf.fill([x], x))
    .padded_batch(2, [1]),
    "padded_batch_bad_value": lambda tf: tf.data.Dataset.from_tensors([1]).padded_batch(
        1, [2], "x"
    ),
    "map_and_batch": lambda tf: tf.data.Dataset.range(5).apply(
        tf.data.experimental.map_and_batch(lambda x: x * 2, 2, drop_remainder=True)
    ),
    "map_and_batch_rest": lambda tf: tf.data.Dataset.range(5).apply(
        tf.data.experimental.map_and_batch(lambda x: (x, [x, x]), 3)
    ),
    "window": lambda tf: tf.data.Dataset.range(7).window(3, 2, 2).flat_map(lambda d: d.batch(9)),
    "window_drop": lambda tf: tf.data.Dataset.range(7)
    .window(3, drop_remainder=True)
    .flat_map(lambda d: d),
    "window_far": lambda tf: tf.data.Dataset.range(9).window(2, 4).flat_map(lambda d: d.batch(9)),
    "unbatch": lambda tf: tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]]).unbatch(),
    "unbatch_pair": lambda tf: tf.data.Dataset.from_tensors(([1, 2], ["a", "b"])).apply(
        tf.data.experimental.unbatch()
    ),
    "repeat": lambda tf: tf.data.Dataset.range(2).repeat(3),
    "repeat_endless": lambda tf: tf.data.Dataset.range(3).repeat(),
    "repeat_0": lambda tf: tf.data.Dataset.range(2).repeat(0),
    "repeat_nothing": lambda tf: tf.data.Dataset.range(0).repeat(),
    "take": lambda tf: tf.data.Dataset.range(5).repeat().take(7),
    "take_all": lambda tf: tf.data.Dataset.range(3).take(-1),
    "skip": lambda tf: tf.data.Dataset.range(5).skip(3),
    "skip_more": lambda tf: tf.data.Dataset.range(5).skip(9),
    "skip_all": lambda tf: tf.data.Dataset.range(5).skip(-1),
    "shard": lambda tf: tf.data.Dataset.range(8).shard(3, 1),
    "shard_none": lambda tf: tf.data.Dataset.range(8).shard(2, 3),
    "zip": lambda tf: tf.data.Dataset.zip(
        (tf.data.Dataset.range(3), tf.data.Dataset.range(10, 19).map(lambda x: (x, {"k": x})))
    ),
    "zip_dict": lambda tf: tf.data.Dataset.zip(
        {"b": tf.data.Dataset.range(3), "a": tf.data.Dataset.range(2)}
    ),
    "zip_list": lambda tf: tf.data.Dataset.zip([tf.data.Dataset.range(3)]),
    "concatenate": lambda tf: tf.data.Dataset.range(3).concatenate(tf.data.Dataset.range(8, 10)),
    "concatenate_shapes": lambda tf: tf.data.Dataset.from_tensors([1, 2]).concatenate(
        tf.data.Dataset.from_tensors([1])
    ),
    "concatenate_types": lambda tf: tf.data.Dataset.range(3).concatenate(
        tf.data.Dataset.from_tensors(1.0)
    ),
    "cache": lambda tf: tf.data.Dataset.range(3)
    .map(lambda x: tf.random_uniform([], seed=3))
    .cache()
    .repeat(3),
    "prefetch": lambda tf: tf.data.Dataset.range(3).prefetch(2),
    "prefetch_bad": lambda tf: tf.data.Dataset.range(3).prefetch(_fed(tf, -5)),
    "enumerate": lambda tf: tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5),
    "options": lambda tf: tf.data.Dataset.range(3).with_options(tf.data.Options()),
    "shuffle": lambda tf: tf.data.Dataset.range(10).shuffle(5, seed=3),
    "shuffle_repeat": lambda tf: tf.data.Dataset.range(10).shuffle(100, seed=3).repeat(3),
    "shuffle_same": lambda tf: tf.data.Dataset.range(6)
    .shuffle(4, seed=3, reshuffle_each_iteration=False)
    .repeat(2),
    "shuffle_of_repeat": lambda tf: tf.data.Dataset.range(6).repeat(2).shuffle(4, seed=9),
    "shuffle_twice": lambda tf: tf.data.Dataset.range(6).shuffle(4, seed=3).shuffle(4, seed=4),
    "shuffle_mapped": lambda tf: tf.data.Dataset.range(6)
    .shuffle(6, seed=3)
    .map(lambda x: x + 1)
    .batch(4)
    .repeat(2),
    "shuffle_seed_0": lambda tf: _seeded(tf, 0, 0).shuffle(4, seed=0),
    "shuffle_graph_seed": lambda tf: _seeded(tf, 7, 9).shuffle(4),
    "shuffle_0": lambda tf: tf.data.Dataset.range(6).shuffle(_fed(tf, 0), seed=1),
    "shuffle_and_repeat": lambda tf: tf.data.Dataset.range(6).apply(
        tf.data.experimental.shuffle_and_repeat(4, 2, seed=3)
    ),
    "shuffle_and_repeat_large": lambda tf: tf.data.Dataset.range(3).apply(
        tf.data.experimental.shuffle_and_repeat(20, 6, seed=5)
    ),
    "shuffle_and_repeat_endless": lambda tf: tf.data.Dataset.range(5).apply(
        tf.data.experimental.shuffle_and_repeat(7, seed=5)
    ),
    "random": lambda tf: tf.data.experimental.RandomDataset(seed=5).take(5),
    "counter": lambda tf: tf.data.experimental.Counter(3, 2).take(4),
    "choose": lambda tf: tf.data.experimental.choose_from_datasets(
        [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)],
        tf.data.Dataset.from_tensor_slices(np.array([0, 1, 1, 1, 0, 0, 0])),
    ),
    "group_by_window": lambda tf: tf.data.Dataset.range(10).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 3, lambda key, window: window.batch(2), window_size=3
        )
    ),
    "group_by_window_size_func": lambda tf: tf.data.Dataset.range(12).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 2,
            lambda key, window: window.batch(9),
            window_size_func=lambda key: (key + 1) * 2,
        )
    ),
    "sample": lambda tf: tf.data.experimental.sample_from_datasets(
        [tf.data.Dataset.range(9), tf.data.Dataset.range(20, 29)], [0.25, 0.75], seed=3
    ),
    "sample_alike": lambda tf: tf.data.experimental.sample_from_datasets(
        [tf.data.Dataset.range(9), tf.data.Dataset.range(20, 29)], seed=5
    ),
    "buckets": lambda tf: _sequences(tf).apply(
        tf.data.experimental.bucket_by_sequence_length(
            lambda x: tf.shape(x)[0], [3, 6], [2, 3, 2]
        )
    ),
    "buckets_to_boundary": lambda tf: _sequences(tf).apply(
        tf.data.experimental.bucket_by_sequence_length(
            lambda x: tf.shape(x)[0], [3, 6, 20], [2, 3, 2, 1], pad_to_bucket_boundary=True
        )
    ),
    "buckets_too_few": lambda tf: _sequences(tf).apply(
        tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [2])
    ),
    "assert_cardinality": lambda tf: tf.data.Dataset.range(3).apply(
        tf.data.experimental.assert_cardinality(4)
    ),
    "generator": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([1, 2, 3]), tf.int32, tf.TensorShape([])
    ),
    "generator_structure": lambda tf: tf.data.Dataset.from_generator(
        lambda n: ((i, {"a": [i] * i}) for i in range(n)),
        (tf.int64, {"a": tf.float32}),
        ([], {"a": [None]}),
        args=(3,),
    ),
    "generator_twice": lambda tf: tf.data.Dataset.from_generator(lambda: ["a", "b"], tf.string)
    .map(lambda s: s + "!")
    .repeat(2),
    "generator_fails": lambda tf: tf.data.Dataset.from_generator(
        lambda: (1 // (2 - i) for i in range(3)), tf.int32, []
    ),
    "generator_other_type": lambda tf: tf.data.Dataset.from_generator(
        lambda: ["x"], tf.int32, []
    ),
    "apply_wrong": lambda tf: tf.data.Dataset.range(3).apply(lambda d: 3),
    "map_cond": lambda tf: tf.data.Dataset.range(3).map(
        lambda x: tf.cond(x > 1, lambda: x * 10, lambda: x)
    ),
}  # fmt: skip
PIPELINES.update(_SHORT)


def _fed(tf: Any, value: int) -> Any:
    """Return a number that is unknown when the graph is built."""
    return tf.placeholder_with_default(tf.constant(value, tf.int64), [])


def _plus(tensor: Any) -> Callable[[Any], Any]:
    return lambda x: x + tensor


def _sequences(tf: Any) -> Any:
    return tf.data.Dataset.range(9).map(lambda x: tf.fill([x], x))


def _seeded(tf: Any, seed: int, count: int) -> Any:
    tf.set_random_seed(seed)
    return tf.data.Dataset.range(count or 8)


def _with_failure(tf: Any) -> Any:
    return tf.data.Dataset.range(5).map(
        lambda x: tf.check_numerics(1.0 / tf.cast(x - 2, tf.float32), "no number")
    )


# -------------------------------------------------------------------------------------------- files


def in_folder(tf: Any, act: Callable[[Path], Any]) -> Any:
    """Return the result of ``act`` in a folder with some files; names do not contain the folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.txt").write_bytes(b"one\r\ntwo\n\nthree")
        (folder / "b.txt").write_bytes(b"four\n")
        (folder / "c.bin").write_bytes(b"HHabcdefF")
        with tf.python_io.TFRecordWriter(str(folder / "r.tfrecord")) as writer:
            for record in (b"x", b"", b"long" * 10):
                writer.write(record)
        return act(folder)


def _elements(tf: Any, sess: Any, dataset: Any) -> list[Any]:
    iterator = tf.data.make_initializable_iterator(dataset)
    return _epoch(tf, sess, iterator, iterator.get_next())


@iterators
def _text_lines(tf: Any, sess: Any) -> Any:
    def act(folder: Path) -> Any:
        names = [str(folder / "a.txt"), str(folder / "b.txt")]
        return [
            _elements(tf, sess, tf.data.TextLineDataset(names)),
            _elements(tf, sess, tf.data.TextLineDataset(names[1])),
            _elements(tf, sess, tf.data.TextLineDataset(tf.data.Dataset.from_tensor_slices(names))),
            _elements(tf, sess, tf.data.TextLineDataset(names, num_parallel_reads=2)),
            _elements(tf, sess, tf.data.TextLineDataset(str(folder / "none"))),
            _elements(tf, sess, tf.data.TextLineDataset(names, "LZ4")),
        ]

    return in_folder(tf, act)


@iterators
def _records(tf: Any, sess: Any) -> Any:
    def act(folder: Path) -> Any:
        name = str(folder / "r.tfrecord")
        damaged = bytearray((folder / "r.tfrecord").read_bytes())
        damaged[20] ^= 1
        (folder / "damaged").write_bytes(bytes(damaged))
        bad = tf.data.TFRecordDataset([str(folder / "damaged"), name])
        return [
            _elements(tf, sess, tf.data.TFRecordDataset(name)),
            _elements(tf, sess, tf.data.TFRecordDataset([name, name], num_parallel_reads=2)),
            _elements(tf, sess, bad),
            _elements(tf, sess, bad.apply(tf.data.experimental.ignore_errors())),
            _elements(tf, sess, tf.data.FixedLengthRecordDataset(str(folder / "c.bin"), 2, 2, 1)),
            _elements(tf, sess, tf.data.FixedLengthRecordDataset(str(folder / "c.bin"), 4)),
        ]

    return in_folder(tf, act)


@iterators
def _list_files(tf: Any, sess: Any) -> Any:
    def act(folder: Path) -> Any:
        def names(pattern: Any, **options: Any) -> Any:
            found = _elements(tf, sess, tf.data.Dataset.list_files(pattern, **options))
            return [one.rsplit("/")[-1] if isinstance(one, str) else one for one in found]

        return [
            names(str(folder / "*.txt"), shuffle=False),
            names([str(folder / "b*"), str(folder / "*.bin")], shuffle=False),
            names(str(folder / "*"), seed=4),
            names(str(folder / "none*"))[-1][:1],
        ]

    return in_folder(tf, act)


# ---------------------------------------------------------------------------------------- iterators


@iterators
def _one_shot(tf: Any, sess: Any) -> Any:
    element = tf.data.make_one_shot_iterator(
        tf.data.Dataset.range(5).map(_plus(tf.constant(2, tf.int64))).batch(2)
    ).get_next()
    return [sess.run(element) for _ in range(3)], [
        attempt(tf, lambda: sess.run(element)) for _ in range(2)
    ]


@iterators
def _one_shot_refuses_variables(tf: Any, sess: Any) -> Any:
    with tf.variable_scope("", use_resource=True):
        variable = tf.get_variable("v", [], tf.int64)
    dataset = tf.data.Dataset.range(3).map(lambda x: x + variable)
    return attempt(tf, lambda: tf.data.make_one_shot_iterator(dataset))[:1]


@iterators
def _variable_in_a_function(tf: Any, sess: Any) -> Any:
    with tf.variable_scope("", use_resource=True):
        variable = tf.get_variable("v", initializer=tf.constant(5, tf.int64))
    iterator = tf.data.make_initializable_iterator(
        tf.data.Dataset.range(4).map(lambda x: x + variable)
    )
    element = iterator.get_next()
    sess.run([variable.initializer])
    sess.run(iterator.initializer)
    first = sess.run(element)
    sess.run(variable.assign_add(100))
    sess.run(element)
    return [first, sess.run(element)]


@iterators
def _uninitialized(tf: Any, sess: Any) -> Any:
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
    return attempt(tf, lambda: sess.run(iterator.get_next()))


@iterators
def _fed_dataset(tf: Any, sess: Any) -> Any:
    values = tf.placeholder(tf.float32, [None])
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(values))
    element = iterator.get_next()
    seen = []
    for fed in ([1.0, 2.0], [5.0]):
        sess.run(iterator.initializer, {values: fed})
        seen.append([attempt(tf, lambda: sess.run(element)) for _ in range(3)])
    return seen


@iterators
def _reinitializable(tf: Any, sess: Any) -> Any:
    iterator = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    element = iterator.get_next()
    seen = []
    for dataset in (tf.data.Dataset.range(2), tf.data.Dataset.range(10, 14).shuffle(3, seed=1)):
        sess.run(iterator.make_initializer(dataset))
        seen.append([attempt(tf, lambda: sess.run(element)) for _ in range(5)])
    wrong = [
        tf.data.Dataset.from_tensors(1.0),
        tf.data.Dataset.range(3).batch(2),
        tf.data.Dataset.from_tensors((1, 2)),
    ]
    return seen, [attempt(tf, lambda one=one: iterator.make_initializer(one))[0] for one in wrong]


@iterators
def _string_handles(tf: Any, sess: Any) -> Any:
    text = tf.placeholder(tf.string, [])
    one = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    two = tf.data.make_initializable_iterator(tf.data.Dataset.range(10, 20))
    chosen = tf.data.Iterator.from_string_handle(text, one.output_types, one.output_shapes)
    element = chosen.get_next()
    first, second = sess.run([one.string_handle(), two.string_handle()])
    sess.run(two.initializer)
    seen = [sess.run(element, {text: which}) for which in (first, second, first, second)]
    wrong = tf.data.Iterator.from_string_handle(text, tf.float32, []).get_next()
    longer = tf.data.Iterator.from_string_handle(text, tf.int64, [3]).get_next()
    return seen, [
        attempt(tf, lambda: sess.run(wrong, {text: first})),
        attempt(tf, lambda: sess.run(longer, {text: first})),
        attempt(tf, lambda: sess.run(element, {text: b"nonsense"})),
    ]


@iterators
def _make_iterator_checks(tf: Any, sess: Any) -> Any:
    resource = tf.raw_ops.IteratorV2(
        shared_name="", container="", output_types=[tf.int64], output_shapes=[[]]
    )
    datasets = [
        tf.raw_ops.TensorDataset(components=[1.0], output_shapes=[[]]),
        tf.raw_ops.TensorDataset(components=[np.int64(1), 2], output_shapes=[[], []]),
        tf.raw_ops.TensorDataset(components=[np.ones(3, np.int64)], output_shapes=[[3]]),
    ]
    return [
        attempt(
            tf, lambda one=one: sess.run(tf.raw_ops.MakeIterator(dataset=one, iterator=resource))
        )
        for one in datasets
    ]


@iterators
def _reduce(tf: Any, sess: Any) -> Any:
    numbers = tf.data.Dataset.range(5)
    return sess.run(
        [
            numbers.reduce(np.int64(0), lambda state, x: state + x),
            numbers.reduce((np.int64(0), 1.0), lambda s, x: (s[0] + x, s[1] * 2.0))[1],
            numbers.batch(2).reduce(tf.zeros([0], tf.int64), lambda s, x: tf.concat([s, x], 0)),
        ]
    )


@iterators
def _single_element(tf: Any, sess: Any) -> Any:
    single = tf.data.experimental.get_single_element
    return [
        attempt(tf, lambda n=n: sess.run(single(tf.data.Dataset.range(9).take(n))))
        for n in range(3)
    ]


@iterators
def _as_optional(tf: Any, sess: Any) -> Any:
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(2))
    optional = tf.raw_ops.IteratorGetNextAsOptional(
        iterator=iterator._iterator_resource, output_types=[tf.int64], output_shapes=[[]]
    )
    has_value = tf.raw_ops.OptionalHasValue(optional=optional)
    return [sess.run(has_value) for _ in range(4)]


@iterators
def _two_get_nexts_in_one_run(tf: Any, sess: Any) -> Any:
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(6).map(lambda x: x * 2))
    pair = [iterator.get_next(), iterator.get_next()]
    return [sorted(sess.run(pair)) for _ in range(3)]


@iterators
def _other_components_are_skipped(tf: Any, sess: Any) -> Any:
    iterator = tf.data.make_one_shot_iterator(
        tf.data.Dataset.zip((tf.data.Dataset.range(4), tf.data.Dataset.range(10, 14)))
    )
    first, second = iterator.get_next()
    return [sess.run(first), sess.run(second), sess.run([first, second])]


@iterators
def _error_and_on(tf: Any, sess: Any) -> Any:
    element = tf.data.make_one_shot_iterator(_with_failure(tf)).get_next()
    seen = [attempt(tf, lambda: sess.run(element)) for _ in range(6)]
    return [one[:1] if isinstance(one, list) else one for one in seen]


@iterators
def _sums_in_a_loop(tf: Any, sess: Any) -> Any:
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(10))
    total = tf.while_loop(
        lambda i, s: i < 4,
        lambda i, s: (i + 1, s + iterator.get_next()),
        [tf.constant(0), tf.constant(0, tf.int64)],
        parallel_iterations=1,
    )[1]
    return sess.run(total)


# --------------------------------------------------------- ops that other versions of the API make


def _raw(tf: Any, sess: Any, variant: Any, types: Any, shapes: Any) -> Any:
    """Return the elements of a raw op's dataset, and its cardinality."""
    resource = tf.raw_ops.IteratorV2(
        shared_name="", container="", output_types=types, output_shapes=shapes
    )
    make = tf.raw_ops.MakeIterator(dataset=variant, iterator=resource)
    element = tf.raw_ops.IteratorGetNext(
        iterator=resource, output_types=types, output_shapes=shapes
    )
    count = tf.raw_ops.DatasetCardinality(input_dataset=variant)
    seen: list[Any] = []
    try:
        sess.run(make)
        while len(seen) < _MOST_ELEMENTS:
            seen.append(plain(sess.run(element)))
    except tf.errors.OpError as error:
        seen.append(described_error(error)[:1])
    return [seen, attempt(tf, lambda: int(sess.run(count)))]


def _int64(tf: Any, value: Any) -> Any:
    return tf.constant(value, tf.int64)


@iterators
def _raw_of_numbers(tf: Any, sess: Any) -> Any:
    raw, one = tf.raw_ops, {"output_types": [tf.int64], "output_shapes": [[]]}
    many = {"output_types": [tf.int64], "output_shapes": [[None]]}
    source = tf.data.Dataset.range(7)._variant_tensor
    five, two = _int64(tf, 5), _int64(tf, 2)
    cache = raw.AnonymousMemoryCache()[0]
    dummy = raw.DummySeedGenerator()
    nothing = tf.constant([], tf.string)
    built = [
        (raw.CacheDatasetV2(input_dataset=source, filename="", cache=cache, **one), one),
        (
            raw.ShuffleDatasetV3(
                input_dataset=source,
                buffer_size=five,
                seed=two,
                seed2=five,
                seed_generator=dummy,
                **one,
            ),
            one,
        ),
        (
            raw.ShuffleAndRepeatDatasetV2(
                input_dataset=source,
                buffer_size=five,
                seed=two,
                seed2=five,
                count=two,
                seed_generator=dummy,
                **one,
            ),
            one,
        ),
        (
            raw.ShuffleDatasetV2(
                input_dataset=source,
                buffer_size=five,
                seed_generator=raw.AnonymousSeedGenerator(seed=two, seed2=five, reshuffle=False)[0],
                **one,
            ),
            one,
        ),
        (raw.ModelDataset(input_dataset=source, **one), one),
        (
            raw.OptimizeDataset(input_dataset=source, optimizations=nothing, **one),
            one,
        ),
        (raw.AssertCardinalityDataset(input_dataset=source, cardinality=two, **one), one),
        (raw.ExperimentalIgnoreErrorsDataset(input_dataset=source, **one), one),
        (raw.UniqueDataset(input_dataset=source, **one), one),
        (
            raw.MaxIntraOpParallelismDataset(
                input_dataset=source, max_intra_op_parallelism=two, **one
            ),
            one,
        ),
        (raw.PrivateThreadPoolDataset(input_dataset=source, num_threads=two, **one), one),
        (raw.NonSerializableDataset(input_dataset=source, **one), one),
        (raw.LatencyStatsDataset(input_dataset=source, tag="a", **one), one),
        (raw.BytesProducedStatsDataset(input_dataset=source, tag="a", **one), one),
        (
            raw.ParallelBatchDataset(
                input_dataset=source,
                batch_size=two,
                num_parallel_calls=two,
                drop_remainder=True,
                **many,
            ),
            many,
        ),
        (
            raw.UnbatchDataset(
                input_dataset=tf.data.Dataset.range(7).batch(2)._variant_tensor, **one
            ),
            one,
        ),
        (
            raw.ExperimentalDirectedInterleaveDataset(
                selector_input_dataset=tf.data.Dataset.range(2).repeat()._variant_tensor,
                data_input_datasets=[source, source],
                **one,
            ),
            one,
        ),
        (raw.RandomDataset(seed=two, seed2=five, **one), one),
    ]
    return [
        _raw(tf, sess, variant, form["output_types"], form["output_shapes"])
        for variant, form in built
    ]


@iterators
def _raw_cardinalities(tf: Any, sess: Any) -> Any:
    numbers = tf.data.Dataset.range(10)
    datasets = [
        numbers.repeat(), numbers.repeat(3), numbers.repeat(0), numbers.filter(lambda x: x > 1),
        numbers.repeat().take(4), numbers.skip(3), numbers.skip(30), numbers.shard(3, 0),
        numbers.shard(3, 2), numbers.batch(3), numbers.batch(3, drop_remainder=True),
        numbers.window(3), numbers.window(3, drop_remainder=True), numbers.window(2, 3, 2),
        numbers.window(2, 3, 2, drop_remainder=True), numbers.concatenate(numbers),
        numbers.concatenate(numbers.repeat()), numbers.concatenate(numbers.filter(lambda x: x > 1)),
        tf.data.Dataset.zip((numbers, numbers.repeat())), numbers.shuffle(3), numbers.cache(),
        tf.data.Dataset.zip((numbers.take(3), numbers)), numbers.prefetch(1),
        numbers.map(lambda x: x), numbers.repeat().map(lambda x: x),
        numbers.flat_map(lambda x: tf.data.Dataset.from_tensors(x)),
        numbers.filter(lambda x: x > 1).take(0), numbers.filter(lambda x: x > 1).take(3),
        numbers.apply(tf.data.experimental.shuffle_and_repeat(3)),
        numbers.apply(tf.data.experimental.shuffle_and_repeat(3, 2)),
        numbers.apply(tf.data.experimental.ignore_errors()),
        numbers.batch(2, drop_remainder=True).unbatch(), tf.data.experimental.RandomDataset(1),
        numbers.apply(tf.data.experimental.map_and_batch(lambda x: x, 3)),
        numbers.apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s, x))),
    ]  # fmt: skip
    counts = [tf.data.experimental.cardinality(dataset) for dataset in datasets]
    return sess.run(counts)


@iterators
def _optionals(tf: Any, sess: Any) -> Any:
    optional = tf.data.experimental.get_next_as_optional(
        tf.data.make_one_shot_iterator(tf.data.Dataset.range(2).map(lambda x: (x, {"k": x * 2})))
    )
    has_value, value = optional.has_value(), optional.get_value()
    seen = [sess.run([has_value, value]) for _ in range(2)]
    return seen, sess.run(has_value), attempt(tf, lambda: sess.run(value))


@iterators
def _effects_of_a_function(tf: Any, sess: Any) -> Any:
    with tf.variable_scope("", use_resource=True):
        variable = tf.get_variable("v", initializer=tf.constant(0, tf.int64))

    def count(x: Any) -> Any:
        variable.assign_add(x)
        before = variable.read_value()
        variable.assign_add(x * 100)
        return before, variable.read_value()

    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(1, 5).map(count))
    element = iterator.get_next()
    sess.run(variable.initializer)
    sess.run(iterator.initializer)
    return [sess.run(element) for _ in range(4)], sess.run(variable)


@iterators
def _table_in_a_function(tf: Any, sess: Any) -> Any:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    iterator = tf.data.make_initializable_iterator(
        tf.data.Dataset.from_tensor_slices(["b", "x", "a"]).map(table.lookup)
    )
    element = iterator.get_next()
    sess.run([tf.tables_initializer(), iterator.initializer])
    return [sess.run(element) for _ in range(3)]


@iterators
def _loop_in_a_function(tf: Any, sess: Any) -> Any:
    def sum_below(x: Any) -> Any:
        zero = tf.constant(0, tf.int64)
        return tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i), [zero, zero])[1]

    element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(5).map(sum_below)).get_next()
    return [sess.run(element) for _ in range(5)]


@iterators
def _reference_variable_in_a_function(tf: Any, sess: Any) -> Any:
    variable = tf.get_variable("w", initializer=2.0, use_resource=False)
    iterator = tf.data.make_initializable_iterator(
        tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32) * variable)
    )
    element = iterator.get_next()
    sess.run(variable.initializer)
    sess.run(iterator.initializer)
    return [sess.run(element) for _ in range(3)]


@iterators
def _graph_seed_in_a_function(tf: Any, sess: Any) -> Any:
    tf.set_random_seed(3)
    element = tf.data.make_one_shot_iterator(
        tf.data.Dataset.range(4).map(lambda x: tf.random_uniform([])).batch(2)
    ).get_next()
    return [sess.run(element) for _ in range(2)]


def _failing(tf: Any, count: int, *bad: int) -> Any:
    """Return numbers, some of which fail."""

    def make(x: Any) -> Any:
        is_bad = tf.reduce_any([tf.equal(x, one) for one in bad])
        value = tf.where(is_bad, np.float32("nan"), tf.cast(x, tf.float32))
        return tf.debugging.check_numerics(value, "bad")

    return tf.data.Dataset.range(count).map(make)


@iterators
def _elements_that_fail_among_others(tf: Any, sess: Any) -> Any:
    exact = tf.data.Dataset.range(9)
    pipelines = [
        pipeline
        for bad in ((2,), (0,), (1, 2), (5,))
        for pipeline in (
            _failing(tf, 9, *bad).batch(2),
            _failing(tf, 9, *bad).take(9).batch(2),
            _failing(tf, 9, *bad).batch(4, drop_remainder=True),
            _failing(tf, 6, *bad).padded_batch(2, []),
            tf.data.Dataset.zip((_failing(tf, 7, *bad), exact)).map(lambda a, b: b),
            tf.data.Dataset.zip((exact, _failing(tf, 6, *bad))).map(lambda a, b: a),
            *(
                _failing(tf, 9, *bad).window(*window).flat_map(lambda one: one.batch(9))
                for window in ((2, 2, 1), (3, 1, 1), (2, 3, 1), (2, 1, 2), (4, 2, 2))
            ),
        )
    ]
    seen = []
    for pipeline in pipelines:
        element = tf.data.make_one_shot_iterator(pipeline).get_next()
        found = [attempt(tf, lambda element=element: sess.run(element)) for _ in range(12)]
        seen.append([one[:1] if isinstance(one, list) else plain(one) for one in found])
    return seen
