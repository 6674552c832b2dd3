"""Queues and input pipelines, built and run in the same way with TensorFlow and with tfnb.

A program of ``GRAPHS`` builds into the default graph; all its nodes are compared, or its error. A
program of ``RUNS`` also gets a session, and returns its observations as lists and numbers.
``scripts/oracle/pipelines.py`` stores TensorFlow's results.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

GRAPHS: dict[str, Callable[[Any], Any]] = {}
RUNS: dict[str, Callable[[Any, Any], Any]] = {}


def graph(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a program whose nodes are compared."""
    GRAPHS[program.__name__.removeprefix("_")] = program
    return program


def run(program: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Register a program whose observations are compared."""
    RUNS[program.__name__.removeprefix("_")] = program
    return program


# ------------------------------------------------------------------------------------- describing


def nodes_of(built: Any) -> dict[str, list[Any]]:
    """Op, inputs, device and attributes of each node by name."""
    return {
        node.name: [
            node.op,
            list(node.input),
            node.device,
            # TensorFlow 2 marks nodes with manual control dependencies.
            {
                key: " ".join(str(value).split())
                for key, value in sorted(node.attr.items())
                if key != "_has_manual_control_dependencies"
            },
        ]
        for node in built.as_graph_def().node
    }


def collections_of(built: Any) -> dict[str, list[str]]:
    """Return the names in the graph's collections; for queue runners their description."""
    return {
        key: [
            " ".join(str(item.to_proto()).split())
            if key == "queue_runners"
            else getattr(item, "name", str(item))
            for item in built.get_collection(key)
        ]
        for key in sorted(built.get_all_collection_keys())
        # Critical sections keep objects that are not part of a graph.
        if not key.startswith(("_", "critical_section"))
    }


def described_error(error: BaseException) -> list[str]:
    """Return class and first line of an error, without numbers of the process's counter."""
    text = getattr(error, "message", None) or str(error)
    lines = text.split("\n")
    # TensorFlow puts the place of the node before the message, and the node after it.
    places = [place for place, line in enumerate(lines) if "[[{{node" in line]
    text = lines[places[0] - 1 if places and places[0] else 0].split(" [[{{")[0]
    text = re.sub(r"\b_\d+_", "_N_", text)
    text = re.sub(r"Tensor\(\"([^\"]*)\"[^)]*\)", r"Tensor(\1)", text)
    return [type(error).__name__, text.strip()]


def answer_of_graph(tf: Any, program: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what a program of ``GRAPHS`` builds."""
    with tf.Graph().as_default() as built:
        tf.set_random_seed(5)
        try:
            result = program(tf)
        except (ValueError, TypeError, RuntimeError) as error:
            return {"error": described_error(error)}
        return {
            "nodes": nodes_of(built),
            "collections": collections_of(built),
            "result": described(result),
        }


def described(result: Any) -> Any:
    """Return names, types and shapes of tensors, in their structure."""
    if isinstance(result, dict):
        return {key: described(result[key]) for key in sorted(result)}
    if isinstance(result, (list, tuple)):
        return [described(one) for one in result]
    if hasattr(result, "dense_shape"):
        return [described(result.indices), described(result.values), described(result.dense_shape)]
    if hasattr(result, "get_shape"):
        return f"{result.name} {result.dtype.name} {result.get_shape()}"
    return getattr(result, "name", None) or repr(result)


def answer_of_run(tf: Any, program: Callable[[Any, Any], Any]) -> Any:
    """Return the observations of a program of ``RUNS``."""
    with tf.Graph().as_default(), tf.Session() as sess:
        return plain(attempt(tf, lambda: program(tf, sess)))


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value


def attempt(tf: Any, act: Callable[[], Any]) -> Any:
    """Return the result of ``act``, or its error."""
    try:
        return act()
    except (tf.errors.OpError, ValueError, TypeError, RuntimeError) as error:
        return described_error(error)


# ------------------------------------------------------------------------------------ queues: graph


@graph
def _queue_methods(tf: Any) -> Any:
    queue = tf.FIFOQueue(4, [tf.int32, tf.float32], shapes=[[], [2]], name="q")
    return [
        queue.enqueue((1, [1.0, 2.0])),
        queue.enqueue_many(([1, 2], [[1.0, 2.0], [3.0, 4.0]])),
        queue.dequeue(),
        queue.dequeue_many(3),
        queue.dequeue_up_to(2),
        queue.dequeue_many(tf.placeholder(tf.int32, [])),
        queue.size(),
        queue.is_closed(),
        queue.close(),
        queue.close(cancel_pending_enqueues=True, name="stop"),
        queue.size(name="n"),
    ]


@graph
def _queue_kinds(tf: Any) -> Any:
    with tf.name_scope("scope"), tf.container("box"):
        return [
            tf.FIFOQueue(4, "int32", shared_name="s").queue_ref,
            tf.PaddingFIFOQueue(4, [tf.int32], shapes=[[None, 2]]).queue_ref,
            tf.PriorityQueue(4, tf.string, shapes=[[]]).queue_ref,
            tf.RandomShuffleQueue(4, 2, tf.int32).queue_ref,
            tf.RandomShuffleQueue(4, 2, tf.int32, seed=3).queue_ref,
            tf.RandomShuffleQueue(4, 2, tf.int32, shared_name="shared").queue_ref,
            tf.RandomShuffleQueue(4, 2, tf.int32, seed=3, shared_name="shared").queue_ref,
        ]


@graph
def _queue_inside_scopes(tf: Any) -> Any:
    constant = tf.constant(1.0, name="before")
    with tf.control_dependencies([constant]), tf.name_scope("s"):
        first = tf.FIFOQueue(4, tf.float32)
        second = tf.RandomShuffleQueue(4, 0, tf.float32, seed=1)
        put = [first.enqueue(1.0), second.enqueue(constant)]
    with tf.device("/job:ps/task:1/device:GPU:0"):
        third = tf.FIFOQueue(4, tf.float32)
        return [*put, third.dequeue(), tf.PaddingFIFOQueue(4, tf.float32, [[]]).queue_ref]


@graph
def _queue_names(tf: Any) -> Any:
    queue = tf.FIFOQueue(4, [tf.int32, tf.float32], shapes=[[], []], names=["i", "f"])
    queue.enqueue({"f": 1.0, "i": 3})
    queue.enqueue_many({"f": [1.0], "i": [3]})
    return [queue.dequeue(), queue.dequeue_many(2), queue.dequeue_up_to(2)]


@graph
def _queue_from_list(tf: Any) -> Any:
    one = tf.FIFOQueue(4, tf.float32, shapes=[[2, 3]], name="one")
    two = tf.RandomShuffleQueue(4, 0, tf.float32, shapes=[[2, 4]], name="two", seed=1)
    queue = tf.QueueBase.from_list(tf.placeholder(tf.int32, []), [one, two])
    return [queue.dequeue(), queue.size(), [str(shape) for shape in queue.shapes], queue.name]


@graph
def _queue_single_shape(tf: Any) -> Any:
    return [
        tf.FIFOQueue(4, tf.float32, shapes=[2, 3]).dequeue(),
        tf.FIFOQueue(4, tf.float32, shapes=tf.TensorShape([2])).dequeue(),
        tf.FIFOQueue(4, tf.float32, shapes=()).dequeue(),
        tf.FIFOQueue(4, (tf.float32, tf.int32)).dequeue(),
    ]


_BAD_QUEUES: dict[str, Callable[[Any], Any]] = {
    "shapes_not_full": lambda tf: tf.FIFOQueue(4, tf.int32, shapes=[[None]]),
    "shapes_no_rank": lambda tf: tf.PaddingFIFOQueue(4, tf.int32, [tf.TensorShape(None)]),
    "shapes_kind": lambda tf: tf.FIFOQueue(4, tf.int32, shapes="x"),
    "shapes_count": lambda tf: tf.FIFOQueue(4, [tf.int32, tf.int32], shapes=[[]]),
    "padding_count": lambda tf: tf.PaddingFIFOQueue(4, [tf.int32, tf.int32], shapes=[[None]]),
    "padding_none": lambda tf: tf.PaddingFIFOQueue(4, [tf.int32], None),
    "padding_flat": lambda tf: tf.PaddingFIFOQueue(4, [tf.int32], [None]),
    "names_count": lambda tf: tf.FIFOQueue(4, tf.int32, names=["a", "b"]),
    "shape_of_enqueued": lambda tf: tf.FIFOQueue(4, tf.int32, shapes=[[2]]).enqueue([[1, 2, 3]]),
    "shape_of_many": lambda tf: tf.FIFOQueue(4, tf.int32, shapes=[[2]]).enqueue_many([[[1, 2, 3]]]),
    "rank_of_many": lambda tf: tf.FIFOQueue(4, tf.int32, shapes=[[]]).enqueue_many([1]),
    "batch_of_many": lambda tf: tf.FIFOQueue(4, [tf.int32] * 2, [[], []]).enqueue_many(
        [[1, 2], [3]]
    ),
    "type_of_enqueued": lambda tf: tf.FIFOQueue(4, tf.int32).enqueue(["text"]),
    "names_without": lambda tf: tf.FIFOQueue(4, tf.int32).enqueue({"a": 1}),
    "names_missing": lambda tf: tf.FIFOQueue(4, tf.int32, names="a").enqueue(1),
    "names_others": lambda tf: tf.FIFOQueue(4, tf.int32, names="a").enqueue({"b": 1}),
    "from_list_empty": lambda tf: tf.QueueBase.from_list(0, []),
    "from_list_types": lambda tf: tf.QueueBase.from_list(
        0, [tf.FIFOQueue(4, tf.int32), tf.FIFOQueue(4, tf.float32)]
    ),
    "from_list_names": lambda tf: tf.QueueBase.from_list(
        0, [tf.FIFOQueue(4, tf.int32, names="a"), tf.FIFOQueue(4, tf.int32, names="b")]
    ),
    "base_shapes": lambda tf: tf.QueueBase([tf.int32], [[], []], None, tf.constant(1)),
    "base_names": lambda tf: tf.QueueBase([tf.int32], [[]], ["a", "b"], tf.constant(1)),
    "too_many_components": lambda tf: tf.FIFOQueue(4, tf.int32).enqueue([1, 2]),
    "too_few_components": lambda tf: tf.FIFOQueue(4, [tf.int32, tf.int32]).enqueue([1]),
    "priority_no_shapes": lambda tf: tf.PriorityQueue(4, tf.string),
    "negative_many": lambda tf: tf.FIFOQueue(4, tf.int32, shapes=[[]]).dequeue_many(-1),
}
for _name, _program in _BAD_QUEUES.items():
    GRAPHS[f"bad_queue_{_name}"] = _program


# ------------------------------------------------------------------------------------- queues: runs


def _shuffled(seed: Any, graph_seed: Any) -> Callable[[Any, Any], Any]:
    def program(tf: Any, sess: Any) -> Any:
        if graph_seed is not None:
            tf.set_random_seed(graph_seed)
        queue = tf.RandomShuffleQueue(100, 10, tf.int32, shapes=[[]], seed=seed)
        put = queue.enqueue_many([list(range(60))])
        one, five, rest = queue.dequeue(), queue.dequeue_many(5), queue.dequeue_up_to(100)
        sess.run(put)
        seen = [sess.run(one) for _ in range(7)]
        seen += [sess.run(five).tolist() for _ in range(6)]
        sess.run(put)
        seen += [sess.run(one) for _ in range(40)]
        sess.run(queue.close())
        return [*seen, sess.run(rest)]

    return program


for _seed, _graph_seed in ((1, None), (7, 3), (None, 9), (2**40, 5)):
    RUNS[f"shuffle_order_{_seed}_{_graph_seed}"] = _shuffled(_seed, _graph_seed)


@run
def _two_shuffling_sessions(tf: Any, sess: Any) -> Any:
    queue = tf.RandomShuffleQueue(50, 0, tf.int32, shapes=[[]], seed=4)
    put, take = queue.enqueue_many([list(range(20))]), queue.dequeue_many(20)
    sess.run(put)
    with tf.Session() as other:
        other.run(put)
        return [sess.run(take), other.run(take)]


@run
def _padded(tf: Any, sess: Any) -> Any:
    queue = tf.PaddingFIFOQueue(9, [tf.int32, tf.string], shapes=[[None, 2], [None]])
    numbers, words = tf.placeholder(tf.int32), tf.placeholder(tf.string)
    put = queue.enqueue([numbers, words])
    sess.run(put, {numbers: [[1, 2]], words: ["a", "b"]})
    sess.run(put, {numbers: [[1, 2], [3, 4]], words: []})
    seen = [attempt(tf, lambda: sess.run(put, {numbers: [[1, 2, 3]], words: []}))]
    seen.append(attempt(tf, lambda: sess.run(put, {numbers: [1], words: []})))
    seen.append(sess.run(queue.dequeue_many(2)))
    seen.append(sess.run(queue.dequeue_many(0)))
    return seen


@run
def _priorities(tf: Any, sess: Any) -> Any:
    queue = tf.PriorityQueue(99, [tf.string], shapes=[[]])
    keys = [5, 1, 3, 1, -2, 3, 3, 0]
    put = queue.enqueue_many([np.int64(keys), [f"v{i}" for i in range(len(keys))]])
    sess.run(put)
    sess.run(put)
    # The order of elements of one priority is unspecified.
    first = sess.run(queue.dequeue())
    priorities, values = sess.run(queue.dequeue_many(15))
    return [first, priorities, sorted(values.tolist())]


@run
def _priority_of_a_vector(tf: Any, sess: Any) -> Any:
    queue = tf.PriorityQueue(9, [tf.string], [[]])
    p = tf.placeholder(tf.int64)
    return attempt(tf, lambda: sess.run(queue.enqueue([p, "x"]), {p: [1]}))


def _bad_shared(first: Any, second: Any) -> Callable[[Any, Any], Any]:
    def program(tf: Any, sess: Any) -> Any:
        one, two = first(tf), second(tf)
        sess.run(one.size())
        return attempt(tf, lambda: sess.run(two.size()))

    return program


def _fifo(tf: Any, capacity: int = 3, types: str = "int32", shapes: Any = None) -> Any:
    return tf.FIFOQueue(capacity, [types], shapes=shapes, shared_name="s")


def _shuffle(tf: Any, least: int = 1, seed: Any = 1) -> Any:
    return tf.RandomShuffleQueue(5, least, tf.int32, seed=seed, shared_name="s")


_SHARED: dict[str, tuple[Any, Any]] = {
    "capacity": (_fifo, lambda tf: _fifo(tf, 4)),
    "capacity_open": (_fifo, lambda tf: _fifo(tf, -1)),
    "types": (_fifo, lambda tf: _fifo(tf, types="float32")),
    "shapes": (lambda tf: _fifo(tf, shapes=[[2]]), lambda tf: _fifo(tf, shapes=[[3, 4]])),
    "no_shapes": (lambda tf: _fifo(tf, shapes=[[2]]), _fifo),
    "kind": (_fifo, _shuffle),
    "least": (_shuffle, lambda tf: _shuffle(tf, 2)),
    "seed": (_shuffle, lambda tf: _shuffle(tf, seed=2)),
    "no_seed": (_shuffle, lambda tf: _shuffle(tf, seed=None)),
    "padding": (
        lambda tf: tf.PaddingFIFOQueue(3, [tf.int32], [[None]], shared_name="s"),
        lambda tf: tf.PaddingFIFOQueue(3, [tf.int32], [[2]], shared_name="s"),
    ),
    "padding_rank": (
        lambda tf: tf.PaddingFIFOQueue(3, [tf.int32], [[None]], shared_name="s"),
        lambda tf: tf.PaddingFIFOQueue(3, [tf.int32], [[2, None]], shared_name="s"),
    ),
    "padding_sizes": (
        lambda tf: tf.PaddingFIFOQueue(3, [tf.int32], [[2, 3]], shared_name="s"),
        lambda tf: tf.PaddingFIFOQueue(3, [tf.int32], [[2, 4]], shared_name="s"),
    ),
    "same": (_fifo, _fifo),
}
for _name, (_first, _second) in _SHARED.items():
    RUNS[f"shared_queue_{_name}"] = _bad_shared(_first, _second)


@run
def _queue_errors(tf: Any, sess: Any) -> Any:
    queue = tf.FIFOQueue(10, [tf.int32, tf.int32], shapes=[[], []], name="q")
    plain_queue = tf.FIFOQueue(10, [tf.int32])
    n, x = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    many = queue.dequeue_many(n)
    up_to = queue.dequeue_up_to(n)
    put = queue.enqueue([x, 1])
    put_many = queue.enqueue_many([x, [1, 2]])
    seen = [
        attempt(tf, lambda: sess.run(many, {n: -1})),
        attempt(tf, lambda: sess.run(up_to, {n: -1})),
        attempt(tf, lambda: sess.run(many, {n: 0})),
        attempt(tf, lambda: sess.run(put, {x: [1]})),
        attempt(tf, lambda: sess.run(put_many, {x: [1]})),
        attempt(tf, lambda: sess.run(put_many, {x: [[1], [2]]})),
        attempt(tf, lambda: sess.run(plain_queue.dequeue_many(1))),
        attempt(
            tf,
            lambda: sess.run(tf.FIFOQueue(9, [tf.int32] * 2).enqueue_many([x, [1, 2]]), {x: [1]}),
        ),
        attempt(tf, lambda: sess.run(plain_queue.dequeue_up_to(1))),
        attempt(tf, lambda: sess.run(tf.FIFOQueue(1, "int32").enqueue_many([[1] * 0]))),
    ]
    sess.run(queue.close())
    seen.append(attempt(tf, lambda: sess.run(put, {x: 1})))
    seen.append(attempt(tf, lambda: sess.run(put_many, {x: [1, 2]})))
    seen.append(attempt(tf, lambda: sess.run(many, {n: 2})))
    seen.append(attempt(tf, lambda: sess.run(up_to, {n: 2})))
    seen.append(attempt(tf, lambda: sess.run(many, {n: 0})))
    seen.append(attempt(tf, lambda: sess.run(queue.dequeue())))
    seen.append(attempt(tf, lambda: sess.run(queue.close())))
    seen.append(sess.run([queue.is_closed(), plain_queue.is_closed(), queue.size()]))
    return seen


@run
def _queue_attributes(tf: Any, sess: Any) -> Any:
    def shuffle(capacity: int, least: int) -> Any:
        return sess.run(tf.RandomShuffleQueue(capacity, least, tf.int32).size())

    return [
        attempt(tf, lambda: shuffle(3, 3)),
        attempt(tf, lambda: shuffle(3, -1)),
        attempt(tf, lambda: shuffle(-1, 3)),
        attempt(tf, lambda: sess.run(tf.FIFOQueue(0, tf.int32).size())),
        attempt(tf, lambda: sess.run(tf.raw_ops.FIFOQueueV2(
            component_types=[tf.int32], shapes=[[], []]).op)),
        attempt(tf, lambda: sess.run(tf.raw_ops.PaddingFIFOQueueV2(
            component_types=[tf.int32], shapes=[[], []]).op)),
    ]  # fmt: skip


@run
def _wrong_queue_types(tf: Any, sess: Any) -> Any:
    queue = tf.FIFOQueue(3, [tf.int32, tf.float32], shapes=[[], []])
    raw = tf.raw_ops
    return [
        attempt(tf, lambda: sess.run(raw.QueueEnqueueV2(
            handle=queue.queue_ref, components=[tf.constant(1.0)]))),
        attempt(tf, lambda: sess.run(raw.QueueEnqueueManyV2(
            handle=queue.queue_ref, components=[tf.constant([1])]))),
        attempt(tf, lambda: sess.run(raw.QueueDequeueV2(
            handle=queue.queue_ref, component_types=[tf.int32]))),
        attempt(tf, lambda: sess.run(raw.QueueDequeueManyV2(
            handle=queue.queue_ref, n=1, component_types=[tf.float32, tf.float32]))),
    ]  # fmt: skip


@run
def _first_versions(tf: Any, sess: Any) -> Any:
    raw = tf.raw_ops
    handle = raw.FIFOQueue(component_types=[tf.int32], shapes=[[]], capacity=4, shared_name="old")
    sess.run(raw.QueueEnqueueMany(handle=handle, components=[[1, 2, 3]]))
    return [
        sess.run(handle),
        sess.run(raw.QueueDequeue(handle=handle, component_types=[tf.int32])),
        sess.run(raw.QueueSize(handle=handle)),
        sess.run(raw.QueueDequeueUpTo(handle=handle, n=2, component_types=[tf.int32])),
    ]


@run
def _chosen_queue(tf: Any, sess: Any) -> Any:
    queues = [tf.FIFOQueue(4, tf.int32, shapes=[[]]) for _ in range(3)]
    for number, queue in enumerate(queues):
        sess.run(queue.enqueue(number * 10))
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, queues)
    taken = chosen.dequeue()
    return [sess.run(taken, {index: i}) for i in (2, 0, 1)]


# ------------------------------------------------------------------------------- producers, batches


@graph
def _producer_of_strings(tf: Any) -> Any:
    queue = tf.train.string_input_producer(["a", "b"], num_epochs=2, seed=7)
    return [queue.queue_ref, queue.dequeue()]


@graph
def _producer_without_end(tf: Any) -> Any:
    names = tf.placeholder(tf.string, [None])
    queue = tf.train.string_input_producer(
        names, shuffle=False, capacity=5, shared_name="files", name="files"
    )
    with tf.name_scope("more"):
        other = tf.train.string_input_producer(tf.constant(["x"]), cancel_op=tf.no_op(name="stop"))
    return [queue.queue_ref, other.queue_ref]


@graph
def _producer_of_rows(tf: Any) -> Any:
    rows = tf.placeholder(tf.float32, [None, None])
    queue = tf.train.input_producer(rows, element_shape=[3], num_epochs=1, shuffle=True)
    other = tf.train.input_producer([[1, 2], [3, 4]], shuffle=False, summary_name="how_full")
    return [queue.dequeue(), other.dequeue()]


@graph
def _producer_of_numbers(tf: Any) -> Any:
    first = tf.train.range_input_producer(5, num_epochs=3)
    second = tf.train.range_input_producer(
        tf.placeholder(tf.int32, []), shuffle=False, capacity=7, name="numbers"
    )
    return [first.dequeue(), second.dequeue()]


@graph
def _producer_of_slices(tf: Any) -> Any:
    images, labels = tf.zeros([6, 2, 2]), tf.placeholder(tf.int64, [6])
    return tf.train.slice_input_producer([images, labels], num_epochs=2, seed=1, capacity=9)


@graph
def _files_matched_once(tf: Any) -> Any:
    found = tf.train.match_filenames_once("/nowhere/*.csv")
    other = tf.io.match_filenames_once(["a*", "b*"], name="others")
    return [found.initializer, other.initializer, tf.train.limit_epochs(found, 3, name="thrice")]


@graph
def _epochs(tf: Any) -> Any:
    x = tf.constant([1, 2])
    return [tf.train.limit_epochs(x) is x, tf.train.limit_epochs(x, num_epochs=2)]


@graph
def _batch_of_one(tf: Any) -> Any:
    return tf.train.batch([tf.placeholder(tf.float32, [3])], 4)


@graph
def _batch_of_list(tf: Any) -> Any:
    x, y = tf.placeholder(tf.float32, [3]), tf.constant("text")
    return tf.train.batch([x, y], batch_size=4, num_threads=3, capacity=50, name="b")


@graph
def _batch_of_dict(tf: Any) -> Any:
    x, y = tf.placeholder(tf.float32, [3]), tf.constant("text")
    return tf.train.batch({"z": x, "a": y}, tf.placeholder(tf.int32, []), shared_name="shared")


@graph
def _batch_of_many(tf: Any) -> Any:
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [5])
    return tf.train.batch((x, y), 4, enqueue_many=True, allow_smaller_final_batch=True)


@graph
def _batch_padded(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 3])
    return tf.train.batch([x], 4, dynamic_pad=True)


@graph
def _batch_with_shapes(tf: Any) -> Any:
    return tf.train.batch([tf.placeholder(tf.float32)], 4, shapes=[[2, 2]])


@graph
def _batch_joined(tf: Any) -> Any:
    with tf.name_scope("outer"):
        sources = [[tf.constant(i, name=f"c{i}"), tf.zeros([2])] for i in range(3)]
        return tf.train.batch_join(sources, 4, capacity=8)


@graph
def _batch_joined_dicts(tf: Any) -> Any:
    sources = [{"b": tf.constant(i), "a": tf.zeros([2])} for i in range(2)]
    return tf.train.batch_join(sources, 4, allow_smaller_final_batch=True, name="joined")


@graph
def _batch_maybe(tf: Any) -> Any:
    keep = tf.placeholder(tf.bool, [])
    return tf.train.maybe_batch([tf.constant(1), tf.zeros([2])], keep, 4)


@graph
def _batch_maybe_many(tf: Any) -> Any:
    keep = tf.placeholder(tf.bool, [None])
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [5])
    return tf.train.maybe_batch([x, y], keep, 4, enqueue_many=True)


@graph
def _batch_never(tf: Any) -> Any:
    return tf.train.maybe_batch([tf.constant(1)], False, 4)


@graph
def _batch_maybe_joined(tf: Any) -> Any:
    keep = tf.placeholder(tf.bool, [])
    return tf.train.maybe_batch_join([[tf.constant(1)], [tf.constant(2)]], keep, 4)


@graph
def _shuffle_batch(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [3])
    return tf.train.shuffle_batch([x, tf.constant("t")], 4, 20, 10, num_threads=2, seed=3)


@graph
def _shuffle_batch_of_many(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 3])
    return tf.train.shuffle_batch(
        [x], 4, capacity=20, min_after_dequeue=10, enqueue_many=True, allow_smaller_final_batch=True
    )


@graph
def _shuffle_batch_maybe(tf: Any) -> Any:
    keep = tf.placeholder(tf.bool, [])
    return tf.train.maybe_shuffle_batch([tf.constant(1)], 4, 20, 10, keep, shared_name="s")


@graph
def _shuffle_batch_joined(tf: Any) -> Any:
    sources = [[tf.constant(i), tf.zeros([2])] for i in range(3)]
    return tf.train.shuffle_batch_join(sources, 4, 20, 10, seed=1, name="mixed")


@graph
def _shuffle_batch_maybe_joined(tf: Any) -> Any:
    keep = tf.placeholder(tf.bool, [None])
    sources = [[tf.placeholder(tf.int32, [4])], [tf.placeholder(tf.int32, [None])]]
    return tf.train.maybe_shuffle_batch_join(sources, 4, 20, 10, keep, enqueue_many=True)


def _sparse(tf: Any, name: str, rank: int = 1) -> Any:
    return tf.SparseTensor(
        tf.placeholder(tf.int64, [None, rank], name=f"indices_{name}"),
        tf.placeholder(tf.float32, [None], name=f"values_{name}"),
        tf.placeholder(tf.int64, [rank], name=f"shape_{name}"),
    )


@graph
def _batch_sparse(tf: Any) -> Any:
    return tf.train.batch([_sparse(tf, "x"), tf.constant(1)], 2)


@graph
def _batch_sparse_alone(tf: Any) -> Any:
    return tf.train.batch([_sparse(tf, "x")], 2)


@graph
def _batch_sparse_many(tf: Any) -> Any:
    return tf.train.batch([_sparse(tf, "x", 2)], 2, enqueue_many=True)


@graph
def _batch_sparse_dict(tf: Any) -> Any:
    return tf.train.shuffle_batch({"s": _sparse(tf, "x"), "d": tf.constant(1)}, 2, 9, 4, seed=1)


@graph
def _batch_sparse_joined(tf: Any) -> Any:
    return tf.train.batch_join([[_sparse(tf, "a")], [_sparse(tf, "b")]], 2)


@graph
def _batch_sparse_maybe(tf: Any) -> Any:
    return tf.train.maybe_batch([_sparse(tf, "x")], tf.placeholder(tf.bool, []), 2)


@graph
def _batch_sparse_maybe_many(tf: Any) -> Any:
    keep = tf.placeholder(tf.bool, [])
    return tf.train.maybe_batch([_sparse(tf, "x", 2)], keep, 2, enqueue_many=True)


@graph
def _batch_sparse_by_rows(tf: Any) -> Any:
    keep, dense = tf.placeholder(tf.bool, [None]), tf.placeholder(tf.int32, [4])
    return tf.train.maybe_batch([_sparse(tf, "x", 2), dense], keep, 2, enqueue_many=True)


_BAD_PIPELINES: dict[str, Callable[[Any], Any]] = {
    "no_strings": lambda tf: tf.train.string_input_producer([]),
    "no_epochs": lambda tf: tf.train.limit_epochs(tf.constant(1), 0),
    "row_shape": lambda tf: tf.train.input_producer(tf.placeholder(tf.float32, [None, None])),
    "row_rank": lambda tf: tf.train.input_producer(tf.placeholder(tf.float32)),
    "row_other": lambda tf: tf.train.input_producer([[1, 2]], element_shape=[3]),
    "no_slices": lambda tf: tf.train.slice_input_producer([]),
    "no_tensors": lambda tf: tf.train.batch([], 2),
    "no_dict": lambda tf: tf.train.batch({}, 2),
    "no_sources": lambda tf: tf.train.batch_join([], 2),
    "no_shuffled": lambda tf: tf.train.shuffle_batch([], 2, 9, 3),
    "no_shuffled_sources": lambda tf: tf.train.shuffle_batch_join([], 2, 9, 3),
    "batch_rank": lambda tf: tf.train.batch([tf.placeholder(tf.float32)], 2),
    "batch_shape": lambda tf: tf.train.batch([tf.placeholder(tf.float32, [None])], 2),
    "batch_scalar": lambda tf: tf.train.batch([tf.constant(1)], 2, enqueue_many=True),
    "join_types": lambda tf: tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 2),
    "join_shapes": lambda tf: tf.train.batch_join([[tf.zeros([2])], [tf.zeros([3])]], 2),
    "capacity": lambda tf: tf.train.shuffle_batch([tf.constant(1)], 2, 3, 3),
    "keep_vector": lambda tf: tf.train.maybe_batch([tf.constant(1)], [True], 2),
    "keep_matrix": lambda tf: tf.train.maybe_batch(
        [tf.constant([1])], [[True]], 2, enqueue_many=True
    ),
    "keep_rank": lambda tf: tf.train.maybe_batch([tf.constant(1)], tf.placeholder(tf.bool), 2),
    "runner_nothing": lambda tf: tf.train.QueueRunner(),
    "runner_no_ops": lambda tf: tf.train.QueueRunner(tf.FIFOQueue(1, tf.int32), []),
    "runner_types": lambda tf: tf.train.QueueRunner(
        tf.FIFOQueue(1, tf.int32, name="q"),
        [tf.no_op()],
        queue_closed_exception_types=ValueError,
    ),
    "runner_both": lambda tf: tf.train.QueueRunner(
        tf.FIFOQueue(1, tf.int32), queue_runner_def=object()
    ),
    "start_no_session": lambda tf: tf.train.start_queue_runners(),
    "start_other": lambda tf: tf.train.start_queue_runners(3),
}
for _name, _program in _BAD_PIPELINES.items():
    GRAPHS[f"bad_pipeline_{_name}"] = _program


@graph
def _runner_by_hand(tf: Any) -> Any:
    queue = tf.FIFOQueue(3, tf.int32, name="q")
    with tf.name_scope("ops"):
        ops = [queue.enqueue(1), queue.enqueue(2)]
    runner = tf.train.QueueRunner(
        queue,
        ops,
        close_op=tf.no_op(name="close"),
        queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
    )
    tf.train.add_queue_runner(runner)
    tf.train.queue_runner.add_queue_runner(runner, "mine")
    again = tf.train.QueueRunner.from_proto(runner.to_proto())
    return [
        runner.name,
        again.name,
        again.queue,
        again.enqueue_ops,
        again.close_op,
        again.cancel_op,
        [kind.__name__ for kind in again.queue_closed_exception_types],
    ]


@graph
def _runner_in_scopes(tf: Any) -> Any:
    with tf.name_scope("a"):
        queue = tf.FIFOQueue(3, tf.int32, name="q")
        runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    described = runner.to_proto(export_scope="a")
    back = tf.train.QueueRunner.from_proto(described, import_scope="a")
    return [
        " ".join(str(described).split()),
        runner.to_proto(export_scope="b") is None,
        back.name,
        back.enqueue_ops,
    ]
