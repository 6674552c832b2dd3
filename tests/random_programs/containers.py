"""Random programs of lists, arrays, queues, stacks, tables, staging areas and barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.random_programs.programs import Program, array, operation_of, programs, sizes

if TYPE_CHECKING:
    from tests.random_calls.draws import Draw


@programs
def tensor_list(d: Draw, p: Program) -> None:
    """Lists in variant tensors: they are pure, so each program has one run."""
    word = d.one("float32 int32 string bool")
    shape = sizes(d, 0, 2)
    dtype = tf.as_dtype(word)
    known = np.array(shape, np.int32) if d.chance(0.7) else np.array(-1, np.int32)
    start = d.one("empty reserve tensor")
    if start == "empty":
        most = np.array(d.one([-1, 3]), np.int32)
        handle = p.raw(
            "EmptyTensorList", element_shape=known, max_num_elements=most, element_dtype=dtype
        )
    elif start == "reserve":
        handle = p.raw(
            "TensorListReserve",
            element_shape=known,
            num_elements=d.number(0, 3),
            element_dtype=dtype,
        )
    else:
        whole = array(d, word, (d.number(0, 3), *shape))
        handle = p.raw(
            "TensorListFromTensor", tensor=whole, element_shape=np.array(shape, np.int32)
        )
    for _ in range(d.number(2, 7)):
        kind = d.one(
            "push push pop set get resize stack gather length concat shape scatter split lists"
        )
        index = np.array(d.number(-1 if d.chance(0.1) else 0, 4 if d.chance(0.2) else 1), np.int32)
        item = array(d, word, shape if d.chance(0.95) else (3,))
        made: Any = None
        if kind == "push":
            made = p.raw("TensorListPushBack", input_handle=handle, tensor=item)
            handle = made if made is not None else handle
            made = p.raw("TensorListLength", input_handle=handle)
        elif kind == "pop":
            found = p.raw(
                "TensorListPopBack", input_handle=handle, element_shape=known, element_dtype=dtype
            )
            if found is not None:
                handle, made = found[0], found[1]
        elif kind == "set":
            found = p.raw("TensorListSetItem", input_handle=handle, index=index, item=item)
            handle = handle if found is None else found
        elif kind == "get":
            made = p.raw(
                "TensorListGetItem",
                input_handle=handle,
                index=index,
                element_shape=known,
                element_dtype=dtype,
            )
        elif kind == "resize":
            found = p.raw("TensorListResize", input_handle=handle, size=index)
            handle = handle if found is None else found
        elif kind == "stack":
            made = p.raw(
                "TensorListStack",
                input_handle=handle,
                element_shape=known,
                element_dtype=dtype,
                num_elements=d.one([-1, 2]),
            )
        elif kind == "gather":
            places = np.array([d.number(0, 3) for _ in range(d.number(0, 3))], np.int32)
            made = p.raw(
                "TensorListGather",
                input_handle=handle,
                indices=places,
                element_shape=known,
                element_dtype=dtype,
            )
        elif kind == "length":
            made = p.raw("TensorListLength", input_handle=handle)
        elif kind == "concat":
            made = p.raw(
                "TensorListConcatV2", input_handle=handle, element_shape=known,
                leading_dims=np.zeros(0, np.int64), element_dtype=dtype,
            )  # fmt: skip
        elif kind == "shape":
            made = p.raw("TensorListElementShape", input_handle=handle, shape_type=tf.int32)
        elif kind == "scatter":
            count = d.number(1, 3)
            # Beyond a gap TensorFlow returns uninitialized memory.
            places = np.arange(count, dtype=np.int32)
            values = array(d, word, (count, *shape))
            found = p.raw(
                "TensorListScatterIntoExistingList",
                input_handle=handle,
                tensor=values,
                indices=places,
            )
            handle = handle if found is None else found
        elif kind == "split":
            lengths = np.array([d.number(0, 2) for _ in range(2)], np.int64)
            values = array(d, word, (int(lengths.sum()), *shape))
            found = p.raw(
                "TensorListSplit",
                tensor=values,
                element_shape=np.array(-1, np.int32),
                lengths=lengths,
            )
            handle = handle if found is None else found
        else:
            found = p.raw(
                "TensorListConcatLists", input_a=handle, input_b=handle, element_dtype=dtype
            )
            handle = handle if found is None else found
        p.run(made)
    p.run(
        p.raw(
            "TensorListStack",
            input_handle=handle,
            element_shape=known,
            element_dtype=dtype,
            num_elements=-1,
        )
    )


@programs
def tensorarray(d: Draw, p: Program) -> None:
    """A TensorArray lives for one step, so that everything is in one run."""
    word = d.one("float32 int32 string")
    dtype, shape = tf.as_dtype(word), sizes(d, 0, 2)
    size = d.number(0, 4)
    made = p.raw(
        "TensorArrayV3", size=size, dtype=dtype, element_shape=shape if d.chance(0.5) else None,
        dynamic_size=d.chance(0.5), clear_after_read=d.chance(0.4),
        identical_element_shapes=d.chance(0.3), tensor_array_name="",
    )  # fmt: skip
    handle, flow = made
    fetched: list[Any] = []
    if size and d.chance(0.7):
        places, values = np.arange(size, dtype=np.int32), array(d, word, (size, *shape))
        flow = p.raw(
            "TensorArrayScatterV3", handle=handle, indices=places, value=values, flow_in=flow
        )
    for _ in range(d.number(1, 7)):
        kind = d.one("write read read gather gather concat size size scatter split")
        if kind in ("write", "scatter", "split") and d.chance(0.7):
            continue  # most of what is there already is an error to write again
        index = np.array(
            d.number(-1 if d.chance(0.05) else 0, 4 if d.chance(0.2) else max(size - 1, 0)),
            np.int32,
        )
        found: Any = None
        if kind == "write":
            item = array(d, word, shape if d.chance(0.95) else (3,))
            found = p.raw(
                "TensorArrayWriteV3", handle=handle, index=index, value=item, flow_in=flow
            )
            flow = flow if found is None else found
            continue
        if kind == "scatter":
            count = d.number(1, 3)
            places = np.arange(count, dtype=np.int32)
            values = array(d, word, (count, *shape))
            found = p.raw(
                "TensorArrayScatterV3", handle=handle, indices=places, value=values, flow_in=flow
            )
            flow = flow if found is None else found
            continue
        if kind == "split":
            lengths = np.array([d.number(0, 2) for _ in range(max(size, 1))], np.int64)
            values = array(d, word, (int(lengths.sum()), *shape))
            found = p.raw(
                "TensorArraySplitV3", handle=handle, value=values, lengths=lengths, flow_in=flow
            )
            flow = flow if found is None else found
            continue
        if kind == "read":
            found = p.raw(
                "TensorArrayReadV3", handle=handle, index=index, flow_in=flow, dtype=dtype
            )
        elif kind == "gather":
            places = np.array(
                [d.number(0, max(size - 1, 0)) for _ in range(d.number(0, 3))], np.int32
            )
            found = p.raw(
                "TensorArrayGatherV3", handle=handle, indices=places, flow_in=flow, dtype=dtype
            )
        elif kind == "concat":
            found = p.raw("TensorArrayConcatV3", handle=handle, flow_in=flow, dtype=dtype)
        else:
            found = p.raw("TensorArraySizeV3", handle=handle, flow_in=flow)
        if found is not None:
            fetched.append(found)
            # The next node sees what this one has cleared.
            with p.graph.as_default(), tf.control_dependencies([operation_of(found)]):
                flow = tf.identity(flow)
    p.run(*fetched, flow)


def _queue(d: Draw, p: Program) -> tuple[Any, list[Any], list[tuple[int, ...]], str]:
    words = [d.one("float32 int32 string int64") for _ in range(d.number(1, 2))]
    kind = d.one("FIFOQueueV2 FIFOQueueV2 PaddingFIFOQueueV2 PriorityQueueV2")
    shapes = [sizes(d, 0, 1) for _ in words]
    dtypes = [tf.as_dtype(word) for word in words]
    attrs: dict[str, Any] = {"capacity": d.number(4, 8), "shapes": shapes, "container": ""}
    attrs["shared_name"] = "queue"
    if kind == "PaddingFIFOQueueV2":
        attrs["shapes"] = [[None] * len(shape) for shape in shapes]
    handle = p.raw(kind, component_types=dtypes, **attrs)
    if kind == "PriorityQueueV2":
        words, shapes = ["int64", *words], [(), *shapes]
    return handle, words, shapes, kind


@programs
def queue(d: Draw, p: Program) -> None:
    """Enqueues and dequeues that never wait, until the queue is closed and after that."""
    handle, words, shapes, kind = _queue(d, p)
    if handle is None:
        return
    dtypes = [tf.as_dtype(word) for word in words]
    count, closed = 0, False
    for _ in range(d.number(3, 10)):
        action = d.one("in in in many out out_many up_to size closed close")
        made: Any = None
        if action in ("in", "many") and (count < 3 or closed):
            number = 1 if action == "in" else d.number(1, 2)
            values = []
            for word, shape in zip(words, shapes, strict=True):
                whole = shape if action == "in" else (number, *shape)
                if kind == "PaddingFIFOQueueV2":
                    whole = tuple(
                        size if i < len(whole) - len(shape) else d.number(1, 3)
                        for i, size in enumerate(whole)
                    )
                if d.chance(0.04):
                    whole = (*whole, 1)
                values.append(array(d, word, whole))
            if kind == "PriorityQueueV2":
                values[0] = np.asarray(
                    d.random.permutation(1000)[: max(number, 1)].astype(np.int64)
                )
                values[0] = values[0][0] if action == "in" else values[0]
            op = "QueueEnqueueV2" if action == "in" else "QueueEnqueueManyV2"
            made = p.raw(op, handle=handle, components=values)
            if made is not None and not closed:
                p.run(made)
                p.run(p.raw("QueueSizeV2", handle=handle))
                count += number
                continue
        elif action == "out" and (count or closed):
            made = p.raw("QueueDequeueV2", handle=handle, component_types=dtypes)
            count = max(count - 1, 0)
        elif action == "out_many" and (count >= 2 or closed):
            made = p.raw("QueueDequeueManyV2", handle=handle, n=2, component_types=dtypes)
            count = max(count - 2, 0)
        elif action == "up_to" and closed:
            made = p.raw(
                "QueueDequeueUpToV2", handle=handle, n=d.number(0, 3), component_types=dtypes
            )
            count = 0
        elif action == "size":
            made = p.raw("QueueSizeV2", handle=handle)
        elif action == "closed":
            made = p.raw("QueueIsClosedV2", handle=handle)
        elif action == "close" and d.chance(0.4):
            made = p.raw("QueueCloseV2", handle=handle, cancel_pending_enqueues=d.chance(0.5))
            closed = True
        p.run(made)
        if d.chance(0.1) and action == "in":
            break  # what failed may have been not counted


@programs
def stack(d: Draw, p: Program) -> None:
    """A stack lives for one step as well: pushes and pops wait for each other."""
    word = d.one("float32 int32 string")
    handle = p.chained(
        "StackV2", max_size=d.one([-1, 2]), elem_type=tf.as_dtype(word), stack_name="s"
    )
    fetched, height = [], 0
    for _ in range(d.number(1, 6)):
        if d.chance(0.55) or (not height and d.chance(0.9)):
            height += 1
            item = array(d, word, d.shape(0, 1, 2))
            fetched.append(p.chained("StackPushV2", handle=handle, elem=item, swap_memory=False))
        else:
            height -= 1
            fetched.append(p.chained("StackPopV2", handle=handle, elem_type=tf.as_dtype(word)))
    p.run(*[one for one in fetched if one is not None])


@programs
def table(d: Draw, p: Program) -> None:
    """Mutable tables: inserts, removals, lookups, sizes, exports."""
    key_word, value_word = d.one("string int64"), d.one("float32 int64 string int32")
    if (key_word, value_word) in (("string", "string"), ("int64", "string"), ("int64", "int32")):
        value_word = "float32"
    if key_word == "string" and value_word == "int32":
        value_word = "int64"
    kind = d.one("MutableHashTableV2 MutableHashTableV2 MutableHashTableOfTensorsV2")
    shape = (2,) if kind.endswith("TensorsV2") else ()
    attrs: dict[str, Any] = {"value_shape": list(shape)} if shape else {}
    handle = p.raw(
        kind, key_dtype=tf.as_dtype(key_word), value_dtype=tf.as_dtype(value_word),
        shared_name="table", **attrs,
    )  # fmt: skip

    def keys(count: int) -> Any:
        if key_word == "int64":
            return d.random.randint(0, 4, count).astype(np.int64)
        found = np.empty(count, object)
        found[:] = [d.one([b"a", b"b", b"", b"c"]) for _ in range(count)]
        return found

    for _ in range(d.number(2, 8)):
        action = d.one("insert insert insert find find remove size export import")
        count = d.number(0, 3)
        made: Any = None
        if action in ("insert", "import"):
            chosen = keys(count)
            if action == "import" or d.chance(0.5):
                chosen = (
                    np.unique(chosen)
                    if key_word == "int64"
                    else np.array(sorted(set(chosen)), object)
                )
            values = array(
                d,
                value_word,
                (len(chosen), *shape) if d.chance(0.95) else (len(chosen) + 1, *shape),
            )
            op = "LookupTableInsertV2" if action == "insert" else "LookupTableImportV2"
            made = p.raw(op, table_handle=handle, keys=chosen, values=values)
        elif action == "find":
            made = p.raw(
                "LookupTableFindV2",
                table_handle=handle,
                keys=keys(count),
                default_value=array(d, value_word, shape),
            )
        elif action == "remove":
            made = p.raw("LookupTableRemoveV2", table_handle=handle, keys=keys(count))
        elif action == "size":
            made = p.raw("LookupTableSizeV2", table_handle=handle)
        else:
            found = p.raw(
                "LookupTableExportV2",
                table_handle=handle,
                Tkeys=tf.as_dtype(key_word),
                Tvalues=tf.as_dtype(value_word),
            )
            # The order is unspecified.
            made = None if found is None else p.raw("Size", input=found[0])
        p.run(made)


@programs
def staging(d: Draw, p: Program) -> None:
    """Staging areas by order and by key, without waiting."""
    word, is_ordered = d.one("float32 int32 string"), d.chance(0.5)
    prefix = "OrderedMap" if is_ordered else "Map"
    dtype = tf.as_dtype(word)
    common: dict[str, Any] = {"dtypes": [dtype], "shared_name": "area", "container": ""}
    held: set[int] = set()
    for _ in range(d.number(2, 8)):
        action = d.one("put put put get peek size missing any clear")
        made: Any = None
        key = np.array(d.number(0, 4), np.int64)
        if action == "put" and int(key) not in held:
            held.add(int(key))
            value = array(d, word, d.shape(0, 1, 2))
            made = p.raw(
                f"{prefix}Stage", key=key, indices=np.array([0], np.int32), values=[value], **common
            )
        elif action in ("get", "peek") and held:
            key = np.array(d.one(sorted(held)), np.int64)
            if action == "get":
                held.discard(int(key))
            op = "Unstage" if action == "get" else "Peek"
            made = p.raw(f"{prefix}{op}", key=key, indices=np.array([0], np.int32), **common)
        elif action == "size":
            made = p.raw(f"{prefix}Size", **common)
        elif action == "missing":
            made = p.raw(f"{prefix}IncompleteSize", **common)
        elif action == "any" and (len(held) == 1 or (held and is_ordered)):
            held.discard(min(held))
            made = p.raw(f"{prefix}UnstageNoKey", indices=np.array([0], np.int32), **common)
        elif action == "clear" and d.chance(0.3):
            held.clear()
            made = p.raw(f"{prefix}Clear", **common)
        p.run(made)


@programs
def accumulator(d: Draw, p: Program) -> None:
    """Gradients of several steps, averaged or summed; outdated ones are dropped."""
    word = d.one("float32 float64")
    dtype, shape = tf.as_dtype(word), sizes(d, 0, 2)
    handle = p.raw(
        "ResourceConditionalAccumulator", dtype=dtype, shape=shape if d.chance(0.7) else None,
        shared_name="sum", reduction_type=d.one("MEAN SUM"),
    )  # fmt: skip
    count = 0
    for _ in range(d.number(2, 8)):
        action = d.one("add add add take number step")
        made: Any = None
        if action == "add":
            grad = array(d, word, shape if d.chance(0.95) else (*shape, 2))
            step = np.int64(d.number(0, 3))
            made = p.raw(
                "ResourceAccumulatorApplyGradient", handle=handle, local_step=step, gradient=grad
            )
        elif action == "take":
            # Only the count is known: gradients that were too old or too large are not included.
            made = p.raw(
                "ResourceAccumulatorTakeGradient", handle=handle, num_required=0, dtype=dtype
            )
        elif action == "number":
            made = p.raw("ResourceAccumulatorNumAccumulated", handle=handle)
        else:
            count += d.number(0, 2)
            made = p.raw(
                "ResourceAccumulatorSetGlobalStep", handle=handle, new_global_step=np.int64(count)
            )
        p.run(made)


@programs
def barrier(d: Draw, p: Program) -> None:
    """Keys whose components come one by one."""
    words = [d.one("float32 int32 string") for _ in range(2)]
    handle = p.raw(
        "Barrier", component_types=[tf.as_dtype(w) for w in words], shapes=[[], []], shared_name="b"
    )
    closed = False
    for _ in range(d.number(3, 9)):
        action = d.one("in in in in take ready missing close")
        made: Any = None
        if action == "in":
            index = d.number(0, 1)
            keys = np.array([d.one([b"a", b"b", b"c"])], object)
            values = array(d, words[index], (1,))
            made = p.raw(
                "BarrierInsertMany", handle=handle, keys=keys, values=values, component_index=index
            )
        elif action == "take" and closed:
            made = p.raw(
                "BarrierTakeMany", handle=handle, num_elements=d.number(1, 2),
                component_types=[tf.as_dtype(w) for w in words], allow_small_batch=d.chance(0.5),
            )  # fmt: skip
        elif action == "ready":
            made = p.raw("BarrierReadySize", handle=handle)
        elif action == "missing":
            made = p.raw("BarrierIncompleteSize", handle=handle)
        elif action == "close" and d.chance(0.5):
            closed = True
            made = p.raw("BarrierClose", handle=handle, cancel_pending_enqueues=d.chance(0.5))
        p.run(made)
