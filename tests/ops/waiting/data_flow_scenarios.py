"""Staging areas, critical sections, accumulators, barriers: more for pipeline_scenarios.py.

Importing this adds them to its ``GRAPHS`` and ``RUNS``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ops.waiting.pipeline_scenarios import GRAPHS, RUNS, attempt, graph, plain, run

if TYPE_CHECKING:
    from collections.abc import Callable

# ------------------------------------------------------------------------- data-flow resources


def _flow(tf: Any) -> Any:
    """Classes without public names."""
    if "tensorflow" in tf.__name__:
        from tensorflow.python.ops import data_flow_ops

        return data_flow_ops
    from tfnb.library.queues import accumulators, barriers, record_input, staging_areas
    from tfnb.ops.array import data_flow_ops

    rooms = (data_flow_ops, accumulators, barriers, record_input, staging_areas)
    return SimpleNamespace(**{name: one for room in rooms for name, one in vars(room).items()})


@graph
def _staging_area(tf: Any) -> Any:
    area = _flow(tf).StagingArea([tf.float32, tf.int32], [[], [2]], capacity=3, memory_limit=99)
    x, y = tf.constant(1.0), tf.constant([1, 2])
    return [area.put([x, y]), area.get(), area.peek(0), area.size(), area.clear(), area.name]


@graph
def _staging_area_named(tf: Any) -> Any:
    area = _flow(tf).StagingArea([tf.float32, tf.int32], names=["a", "b"], shared_name="area")
    put = area.put({"b": tf.constant([1, 2]), "a": tf.constant(1.0)}, name="p")
    return [put, area.get(name="g"), area.names, area.capacity, area.memory_limit]


@graph
def _staging_area_on_devices(tf: Any) -> Any:
    with tf.device("/device:CPU:0"):
        area = _flow(tf).StagingArea([tf.float32])
    with tf.device("/device:CPU:1"):
        return [area.put([tf.constant(1.0)]), area.get()]


@graph
def _staging_map(tf: Any) -> Any:
    area = _flow(tf).MapStagingArea([tf.float32, tf.int32], [[], [2]], capacity=3)
    key, x, y = tf.constant(1, tf.int64), tf.constant(1.0), tf.constant([1, 2])
    return [
        area.put(key, [x, y], [0, 1]),
        area.put(key, [x], [0]),
        area.get(),
        area.get(key),
        area.get(key, indices=[0]),
        area.get(indices=[1]),
        area.peek(key),
        area.size(),
        area.incomplete_size(),
        area.clear(),
    ]


@graph
def _staging_map_ordered(tf: Any) -> Any:
    area = _flow(tf).MapStagingArea(
        [tf.float32, tf.int32], ordered=True, names=["a", "b"], shared_name="area"
    )
    key, x, y = tf.constant(1, tf.int64), tf.constant(1.0), tf.constant([1, 2])
    return [
        area.put(key, {"a": x}),
        area.put(key, {"a": x, "b": y}),
        area.get(),
        area.get(key, indices=["b"]),
        area.peek(key, indices=["b"]),
    ]


@run
def _staged(tf: Any, sess: Any) -> Any:
    area = _flow(tf).StagingArea([tf.int32, tf.string], capacity=3)
    x, s = tf.placeholder(tf.int32), tf.placeholder(tf.string)
    put = area.put([x, s])
    for i in range(3):
        sess.run(put, {x: [i] * i, s: f"s{i}"})
    seen = [sess.run([area.size(), *area.peek(1)]), sess.run(area.get())]
    sess.run(area.clear())
    return [*seen, sess.run(area.size())]


@run
def _staged_too_much(tf: Any, sess: Any) -> Any:
    area = _flow(tf).StagingArea([tf.int32], memory_limit=8)
    other = _flow(tf).MapStagingArea([tf.int32], memory_limit=8)
    x = tf.placeholder(tf.int32)
    put = area.put([x])
    sess.run(put, {x: [1, 2]})
    return [
        attempt(tf, lambda: sess.run(put, {x: [1, 2, 3]})),
        attempt(tf, lambda: sess.run(other.put(tf.constant(1, tf.int64), [x], [0]), {x: [1] * 3})),
    ]


def _mapped(ordered: bool) -> Callable[[Any, Any], Any]:
    def program(tf: Any, sess: Any) -> Any:
        area = _flow(tf).MapStagingArea([tf.int32, tf.int32], ordered=ordered)
        key, x = tf.placeholder(tf.int64), tf.placeholder(tf.int32)
        first, second = area.put(key, [x], [0]), area.put(key, [x], [1])
        both = area.put(key, [x, x + 1], [0, 1])
        seen = []
        for number in (3, 1, 2):
            sess.run(first, {key: number, x: number})
        seen.append(sess.run([area.size(), area.incomplete_size()]))
        seen.append(attempt(tf, lambda: sess.run(first, {key: 3, x: 1})))
        for number in (1, 3, 2):
            sess.run(second, {key: number, x: -number})
        seen.append(sess.run([area.size(), area.incomplete_size()]))
        seen.append(sess.run(area.peek(key), {key: 2}))
        seen.append(sess.run(area.get(key, indices=[1]), {key: 2}))
        seen.append(attempt(tf, lambda: sess.run(area.get(key, indices=[1]), {key: 2})))
        seen.append(sess.run(area.get(key, indices=[0]), {key: 2}))
        sess.run(both, {key: 0, x: 7})
        seen.append(sess.run(area.size()))
        taken = [sess.run(area.get()) for _ in range(3)]
        # Without an order any key may come first.
        seen.append(taken if ordered else sorted(plain(taken)))
        sess.run(both, {key: 4, x: 7})
        sess.run(area.clear())
        return [*seen, sess.run(area.size())]

    return program


RUNS["mapped"] = _mapped(False)
RUNS["mapped_in_order"] = _mapped(True)

_BAD_AREAS: dict[str, Callable[[Any], Any]] = {
    "shapes": lambda tf: _flow(tf).StagingArea([tf.int32], [[], []]),
    "names": lambda tf: _flow(tf).StagingArea([tf.int32], names=["a", "b"]),
    "put_dict": lambda tf: _flow(tf).StagingArea([tf.int32]).put({"a": tf.constant(1)}),
    "put_list": lambda tf: _flow(tf).StagingArea([tf.int32], names=["a"]).put([tf.constant(1)]),
    "put_names": lambda tf: (
        _flow(tf).StagingArea([tf.int32], names=["a"]).put({"b": tf.constant(1)})
    ),
    "put_type": lambda tf: _flow(tf).StagingArea([tf.int32]).put([tf.constant(1.0)]),
    "put_shape": lambda tf: _flow(tf).StagingArea([tf.int32], [[2]]).put([tf.constant(1)]),
    "map_no_indices": lambda tf: (
        _flow(tf).MapStagingArea([tf.int32]).put(tf.constant(1, tf.int64), [tf.constant(1)])
    ),
    "map_count": lambda tf: (
        _flow(tf)
        .MapStagingArea([tf.int32] * 2)
        .put(tf.constant(1, tf.int64), [tf.constant(1)], [0, 1])
    ),
    "map_strings": lambda tf: _flow(tf).MapStagingArea([tf.int32]).get(indices=["a"]),
    "map_mixed": lambda tf: _flow(tf).MapStagingArea([tf.int32]).get(indices=["a", 0]),
    "map_unknown": lambda tf: _flow(tf).MapStagingArea([tf.int32], names=["a"]).get(indices=["b"]),
}
for _name, _program in _BAD_AREAS.items():
    GRAPHS[f"bad_area_{_name}"] = _program


@graph
def _critical_section(tf: Any) -> Any:
    section = tf.CriticalSection(name="cs")
    v = tf.get_variable("v", [], use_resource=True, initializer=tf.zeros_initializer())
    outer = tf.constant(3.0, name="outer")
    before = v + outer
    return [
        section.name,
        section.execute(lambda: v.assign_add(outer * before).op),
        section.execute(lambda: (v + 1.0, v + 2.0), name="two"),
        section.execute(lambda: {"a": [tf.constant(1.0)]}),
    ]


@graph
def _critical_sections_shared(tf: Any) -> Any:
    v = tf.get_variable("v", [], use_resource=True, initializer=tf.zeros_initializer())
    with tf.name_scope("s"):
        one, two = tf.CriticalSection(), tf.CriticalSection(shared_name="shared")
    return [
        one.execute(lambda: v + 1.0, exclusive_resource_access=False),
        two.execute(lambda: v + 1.0, exclusive_resource_access=False),
    ]


@run
def _section_adds_up(tf: Any, sess: Any) -> Any:
    section = tf.CriticalSection()
    v = tf.get_variable("v", [], use_resource=True, initializer=tf.zeros_initializer())

    def add() -> Any:
        value = v.read_value()
        with tf.control_dependencies([value]):
            return v.assign(value + 1.0, read_value=False)

    ops = [section.execute(add) for _ in range(20)]
    sess.run(v.initializer)
    sess.run(ops)
    sess.run(ops)
    return sess.run(v.read_value())


@graph
def _accumulator(tf: Any) -> Any:
    one = tf.ConditionalAccumulator(tf.float32, shape=[2], name="acc", shared_name="shared")
    two = tf.ConditionalAccumulator(tf.float32, reduction_type="SUM")
    with tf.name_scope("use"):
        return [
            one.apply_grad([1.0, 2.0], local_step=1),
            one.apply_grad([1.0, 2.0], local_step=tf.placeholder(tf.int64, []), name="apply"),
            one.take_grad(2),
            one.take_grad(2, name="take"),
            one.num_accumulated(),
            one.num_accumulated(name="count"),
            one.set_global_step(3),
            one.set_global_step(3, name="step"),
            one.name,
            two.take_grad(1),
            [two.dtype.name, two.accumulator_ref],
        ]


@graph
def _sparse_accumulator(tf: Any) -> Any:
    one = tf.SparseConditionalAccumulator(
        tf.float32, shape=[4, 2], name="acc", reduction_type="SUM"
    )
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1], tf.int64))
    return [
        one.apply_grad([0], [[1.0, 2.0]]),
        one.apply_grad([0], [[1.0, 2.0]], [4, 2], local_step=3, name="q"),
        one.apply_indexed_slices_grad(slices),
        one.take_grad(2),
        one.take_indexed_slices_grad(1),
        one.num_accumulated(),
        one.set_global_step(3),
    ]


def _accumulated(reduction: str) -> Callable[[Any, Any], Any]:
    def program(tf: Any, sess: Any) -> Any:
        acc = tf.ConditionalAccumulator(tf.float32, [2], reduction_type=reduction)
        x, step = tf.placeholder(tf.float32), tf.placeholder(tf.int64)
        put, take = acc.apply_grad(x, step), acc.take_grad(2)
        for number in range(3):
            sess.run(put, {x: [number, 2 * number], step: 0})
        seen = [sess.run(acc.num_accumulated()), sess.run(take)]
        # The step is larger now, so that older gradients are dropped.
        sess.run(put, {x: [9, 9], step: 0})
        seen.append(sess.run(acc.num_accumulated()))
        sess.run(put, {x: [9, 9], step: 1})
        sess.run(acc.set_global_step(5))
        sess.run(acc.set_global_step(3))
        sess.run(put, {x: [1, 1], step: 4})
        sess.run(put, {x: [1, 1], step: 5})
        seen.append(sess.run(acc.num_accumulated()))
        seen.append(attempt(tf, lambda: sess.run(put, {x: [1, 2, 3], step: 5})))
        seen.append(attempt(tf, lambda: sess.run(acc.take_grad(0))))
        seen.append(attempt(tf, lambda: sess.run(acc.take_grad(-1))))
        return [*seen, sess.run(acc.take_grad(1))]

    return program


RUNS["accumulated_mean"] = _accumulated("MEAN")
RUNS["accumulated_sum"] = _accumulated("SUM")


@run
def _accumulated_without_shape(tf: Any, sess: Any) -> Any:
    acc = tf.ConditionalAccumulator(tf.float64)
    x = tf.placeholder(tf.float64)
    put = acc.apply_grad(x)
    sess.run(put, {x: [1, 2]})
    sess.run(put, {x: [2, 5]})
    return sess.run(acc.take_grad(1))


@run
def _accumulated_rows(tf: Any, sess: Any) -> Any:
    seen = []
    for reduction in ("MEAN", "SUM"):
        for known in ([4, 2], None):
            acc = tf.SparseConditionalAccumulator(tf.float32, known, reduction_type=reduction)
            i, v = tf.placeholder(tf.int64), tf.placeholder(tf.float32)
            put = acc.apply_grad(i, v)
            shaped = acc.apply_grad(i, v, tf.constant([4, 2], tf.int64))
            sess.run(put, {i: [1, 3], v: [[1, 2], [3, 4]]})
            sess.run(shaped, {i: [0, 1], v: [[10, 20], [30, 40]]})
            seen.append(sess.run(acc.num_accumulated()))
            seen.append(sess.run(acc.take_grad(1)))
            sess.run(acc.set_global_step(0))
            seen.append(sess.run(acc.num_accumulated()))
    return seen


@run
def _accumulated_bad_rows(tf: Any, sess: Any) -> Any:
    acc = tf.SparseConditionalAccumulator(tf.float32, [4, 2])
    i, v = tf.placeholder(tf.int64), tf.placeholder(tf.float32)
    s = tf.placeholder(tf.int64)
    put, shaped = acc.apply_grad(i, v), acc.apply_grad(i, v, s)
    return [
        attempt(tf, lambda: sess.run(put, {i: [1], v: [[1, 2], [3, 4]]})),
        attempt(tf, lambda: sess.run(put, {i: [[1]], v: [[1, 2]]})),
        attempt(tf, lambda: sess.run(put, {i: [1], v: [[1, 2, 3]]})),
        attempt(tf, lambda: sess.run(put, {i: [1], v: 1})),
        attempt(tf, lambda: sess.run(shaped, {i: [1], v: [[1, 2]], s: [5, 2]})),
        attempt(tf, lambda: sess.run(shaped, {i: [1], v: [[1, 2]], s: [4, 2, 1]})),
        attempt(tf, lambda: sess.run(shaped, {i: [1], v: [[1, 2]], s: [4, 2]})),
        attempt(tf, lambda: sess.run(shaped, {i: [9], v: [[1, 2]], s: [4, 2]})),
    ]


@run
def _accumulators_shared(tf: Any, sess: Any) -> Any:
    one = tf.ConditionalAccumulator(tf.float32, [2], shared_name="s")
    two = tf.ConditionalAccumulator(tf.float32, [3], shared_name="s")
    three = tf.ConditionalAccumulator(tf.float64, [2], shared_name="s")
    four = tf.ConditionalAccumulator(tf.float32, [2], shared_name="s")
    sess.run(one.apply_grad([1.0, 2.0]))
    return [
        attempt(tf, lambda: sess.run(two.num_accumulated())),
        attempt(tf, lambda: sess.run(three.num_accumulated())),
        attempt(tf, lambda: sess.run(four.num_accumulated())),
    ]


@graph
def _accumulator_of_strings(tf: Any) -> Any:
    return tf.ConditionalAccumulator(tf.float32, reduction_type="Invalid")


# ------------------------------------------------------------------------------------- barriers


@graph
def _barrier(tf: Any) -> Any:
    barrier = _flow(tf).Barrier((tf.float32, tf.int32), shapes=((), (2,)), name="b")
    free = _flow(tf).Barrier(tf.float32, shared_name="shared")
    keys = tf.placeholder(tf.string, [None])
    return [
        barrier.insert_many(0, ["a", "b"], [1.0, 2.0]),
        barrier.insert_many(1, keys, [[1, 2]], name="i"),
        barrier.take_many(2),
        barrier.take_many(3, allow_small_batch=True, name="t"),
        barrier.take_many(tf.placeholder(tf.int32, [])),
        free.take_many(1),
        barrier.close(),
        barrier.close(cancel_pending_enqueues=True),
        barrier.ready_size(),
        barrier.incomplete_size(),
        barrier.name,
        barrier.barrier_ref,
    ]


@run
def _barriers(tf: Any, sess: Any) -> Any:
    barrier = _flow(tf).Barrier((tf.float32, tf.int32), shapes=((), (2,)), name="b")
    keys = tf.placeholder(tf.string)
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    first, second = barrier.insert_many(0, keys, x), barrier.insert_many(1, keys, y)
    sizes = [barrier.ready_size(), barrier.incomplete_size()]

    def put(op: Any, names: list[str], values: Any) -> Any:
        value = x if op is first else y
        return attempt(tf, lambda: sess.run(op, {keys: names, value: values}))

    seen = [
        put(first, ["c", "a", "b"], [3.0, 1.0, 2.0]),
        sess.run(sizes),
        put(second, ["b", "c"], [[2, 2], [3, 3]]),
        sess.run(sizes),
        sess.run(barrier.take_many(2)),
        put(first, ["a"], [5.0]),
        put(first, ["d"], [5.0]),
        put(second, ["d"], [[5, 6]]),
        put(second, ["a"], [[1, 1]]),
        # The order of the keys of one insertion is unspecified.
        put(first, ["e"], [5.0]),
        put(first, ["f"], [6.0]),
        put(second, ["e"], [[5, 5]]),
        attempt(tf, lambda: sess.run(barrier.take_many(-1))),
        attempt(tf, lambda: sess.run(barrier.take_many(0))),
        sess.run(sizes),
    ]
    sess.run(barrier.close())
    seen += [
        put(first, ["g"], [5.0]),
        put(second, ["f"], [[6, 6]]),
        sess.run(sizes),
        attempt(tf, lambda: sess.run(barrier.take_many(9))),
        sess.run(barrier.take_many(9, allow_small_batch=True)),
        attempt(tf, lambda: sess.run(barrier.take_many(1, allow_small_batch=True))),
        attempt(tf, lambda: sess.run(barrier.take_many(1))),
        attempt(tf, lambda: sess.run(barrier.close())),
        attempt(tf, lambda: sess.run(barrier.close(cancel_pending_enqueues=True))),
        put(second, ["f"], [[6, 6]]),
    ]
    return seen


@run
def _barriers_closed(tf: Any, sess: Any) -> Any:
    barrier = _flow(tf).Barrier((tf.float32, tf.int32), shapes=((), ()))
    sess.run(barrier.insert_many(0, ["a", "b"], [1.0, 2.0]))
    sess.run(barrier.insert_many(1, ["a"], [1]))
    sess.run(barrier.close(cancel_pending_enqueues=True))
    return [
        attempt(tf, lambda: sess.run(barrier.insert_many(1, ["b"], [2]))),
        attempt(tf, lambda: sess.run(barrier.insert_many(0, ["c"], [2.0]))),
        sess.run([barrier.ready_size(), barrier.incomplete_size()]),
        attempt(tf, lambda: sess.run(barrier.take_many(2, allow_small_batch=True))),
        attempt(tf, lambda: sess.run(barrier.take_many(2, allow_small_batch=True))),
    ]


@run
def _barriers_refused(tf: Any, sess: Any) -> Any:
    raw = tf.raw_ops

    def make(**attrs: Any) -> Any:
        return sess.run(raw.Barrier(**attrs))

    one = _flow(tf).Barrier((tf.float32, tf.int32), shapes=((), ()), shared_name="s")
    two = _flow(tf).Barrier((tf.float32, tf.int32), shapes=((2,), ()), shared_name="s")
    three = _flow(tf).Barrier((tf.float32,), shapes=((),), shared_name="s")
    sess.run(one.ready_size())
    return [
        attempt(tf, lambda: sess.run(one.insert_many(2, ["a"], [1.0]))),
        attempt(tf, lambda: sess.run(one.insert_many(0, ["a"], [1]))),
        attempt(tf, lambda: sess.run(two.ready_size())),
        attempt(tf, lambda: sess.run(three.ready_size())),
        attempt(tf, lambda: make(component_types=[tf.int32], capacity=3)),
        attempt(tf, lambda: make(component_types=[tf.int32], shapes=[[]], capacity=3)),
        attempt(tf, lambda: make(component_types=[tf.int32], shapes=[[], []])),
    ]


# --------------------------------------------------------------------- ops of old graphs


def _old_tensor_array(version: str) -> Callable[[Any, Any], Any]:
    """Writes, reads, stacks, splits and closes, with the ops of the first or second version."""

    def program(tf: Any, sess: Any) -> Any:
        old = tf.GraphDef()
        old.versions.producer = 10
        is_first = not version
        dtype = tf.AttrValue(type=tf.float32.as_datatype_enum)

        def node(name: str, op: str, *inputs: str, **attrs: Any) -> str:
            made = old.node.add(name=name, op=op, input=list(inputs))
            for key, value in attrs.items():
                made.attr[key].CopyFrom(value)
            return name

        def constant(name: str, value: Any) -> str:
            array = np.asarray(value)
            kind = tf.AttrValue(type=tf.as_dtype(array.dtype).as_datatype_enum)
            tensor = tf.AttrValue(tensor=tf.make_tensor_proto(array))
            return node(name, "Const", dtype=kind, value=tensor)

        def op(name: str) -> str:
            return f"TensorArray{name}{version}"

        size, flow = constant("size", np.int32(3)), constant("flow", np.float32(0))
        rows = constant("rows", np.float32([[1, 2], [3, 4], [5, 6]]))
        indices = constant("indices", np.int32([0, 1, 2]))
        row, two = constant("row", np.float32([7, 8])), constant("two", np.int32(2))
        lengths = constant("lengths", np.int64([1, 0, 2]))
        keep = tf.AttrValue(b=False)
        node("ta", op(""), size, dtype=dtype, clear_after_read=keep)
        node("tb", op(""), size, dtype=dtype, clear_after_read=keep)
        if is_first:
            node("scatter", "TensorArrayUnpack", "ta", rows, flow, T=dtype)
        else:
            node("scatter", op("Scatter"), "ta", indices, rows, flow, T=dtype)
        node("read", op("Read"), "ta", two, "scatter", dtype=dtype)
        if is_first:
            node("stack", "TensorArrayPack", "ta", "scatter", dtype=dtype)
        node("gather", op("Gather"), "ta", indices, "scatter", dtype=dtype)
        node("count", op("Size"), "ta", "scatter")
        node("split", op("Split"), "tb", rows, lengths, flow, T=dtype)
        node("concat", op("Concat"), "tb", "split", dtype=dtype)
        node("tc", op(""), size, dtype=dtype)
        node("write", op("Write"), "tc", two, row, flow, T=dtype)
        node("read_c", op("Read"), "tc", two, "write", dtype=dtype)
        node("close", op("Close"), "tc", "^read_c")
        tf.import_graph_def(old, name="")
        names = ["read:0", "gather:0", "count:0", "concat:0", "concat:1", "read_c:0"]
        return sess.run([*names, *(["stack:0"] if is_first else []), "close"])

    return program


RUNS["old_tensor_array_1"] = _old_tensor_array("")
RUNS["old_tensor_array_2"] = _old_tensor_array("V2")


# ----------------------------------------------------------------------------- synchronous training


def _synchronous(tf: Any, **options: Any) -> Any:
    return tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), 2, **options)


@graph
def _synchronous_training(tf: Any) -> Any:
    step = tf.train.get_or_create_global_step()
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable([[1.0], [2.0]], name="w")
    optimizer = _synchronous(tf, total_num_replicas=3)
    rows = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.constant([2, 1]))
    pairs = [(tf.constant([1.0, 2.0]), v), (rows, w), (None, tf.Variable(1.0, name="u"))]
    train = optimizer.apply_gradients(pairs, global_step=step)
    return [
        train,
        optimizer.get_init_tokens_op(),
        optimizer.get_init_tokens_op(0),
        optimizer.chief_init_op,
        optimizer.local_step_init_op,
        " ".join(str(optimizer.get_chief_queue_runner().to_proto()).split()),
        optimizer.get_slot_names(),
    ]


_BAD_SYNCHRONOUS: dict[str, Callable[[Any], Any]] = {
    "runner": lambda tf: _synchronous(tf).get_chief_queue_runner(),
    "tokens": lambda tf: _synchronous(tf).get_init_tokens_op(),
    "nothing": lambda tf: _synchronous(tf).apply_gradients([]),
    "step": lambda tf: _synchronous(tf).apply_gradients([(tf.constant(1.0), tf.Variable(1.0))]),
    "hook": lambda tf: _synchronous(tf).make_session_run_hook(True).begin(),
}
for _name, _program in _BAD_SYNCHRONOUS.items():
    GRAPHS[f"bad_synchronous_{_name}"] = _program


@run
def _synchronous_steps(tf: Any, sess: Any) -> Any:
    step = tf.train.get_or_create_global_step()
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), 1)
    train = optimizer.minimize(tf.reduce_sum(v * v), global_step=step)
    hook = optimizer.make_session_run_hook(True)
    hook.begin()
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    hook.after_create_session(sess, coordinator)
    seen = [sess.run(train) for _ in range(2)]
    has_moved = sess.run(step) >= 1
    coordinator.request_stop()
    # Only close ends the chief, which waits for gradients.
    sess.close()
    coordinator.join()
    return [len(seen), has_moved]


@graph
def _record_input(tf: Any) -> Any:
    return [
        _flow(tf).RecordInput("/nowhere/x*", batch_size=2, seed=3).get_yield_op(),
        _flow(tf).RecordInput("/nowhere/x*", name="r", compression_type="GZIP").get_yield_op(),
    ]
