"""The queue ops: they put into and take from a queue without holding a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.node_text import shape_text, type_word
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    no_outputs,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.named_resources import as_reference, find_resource, own_resource, pair_shape
from tfnb.ops.waiting.queue_kernels import (
    PaddingFIFOQueue,
    PriorityQueue,
    Queue,
    RandomShuffleQueue,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle
    from tfnb.core.op_kernel import OpKernelContext, type_of_done
    from tfnb.core.resource_mgr import RefCell, ResourceHandle

_TYPE = "Queue"


# -- shape functions


def _handle_shape(c: InferenceContext) -> TensorShape:
    shapes, types = c.attrs["shapes"], list(c.attrs["component_types"])
    if c.op_def.name.startswith("Priority"):
        types = [dtypes.int64, *types]
        shapes = [SCALAR_SHAPE, *shapes]
    if len(shapes) == len(types):
        c.set_output_handle_data(0, list(zip(types, shapes)))
    return SCALAR_SHAPE


def _components(c: InferenceContext) -> list[TensorShape]:
    data = c.input_handle_data(0)
    count = c.num_outputs
    if not data or len(data) != count:
        return [UNKNOWN_SHAPE] * count
    return [shape for _, shape in data]


def _dequeued(c: InferenceContext) -> list[TensorShape]:
    return _components(c)


def _dequeued_many(c: InferenceContext) -> list[TensorShape]:
    n = c.constant_value(1)
    if n is not None and not np.ndim(n) and n < 0:
        raise ValueError(f"Input 'n' must be >= 0, but is {n}")
    lead = TensorShape([None if n is None else int(n)])
    return [lead.concatenate(shape) for shape in _components(c)]


def _dequeued_up_to(c: InferenceContext) -> list[TensorShape]:
    return [TensorShape([None]).concatenate(shape) for shape in _components(c)]


def _scalar(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


# -- making


def _check_same(queue: Queue, wanted: Queue, op: str) -> None:
    """Refuse a queue of another form."""
    name = queue.name
    if queue.kind != wanted.kind:
        raise errors.invalid_argument(f"Expected {queue.kind}, found {op}")
    for what, found, asked in (
        ("capacity", queue.capacity, wanted.capacity),
        ("component types", _types(queue), _types(wanted)),
        ("component shapes", _shapes(queue), _shapes(wanted)),
    ):
        if found != asked:
            if what == "component shapes" and _fits(queue, wanted):
                continue
            verb = "were" if what.endswith("s") else "was"
            raise errors.invalid_argument(
                f"Shared queue '{name}' has {what} {found} but requested {what} {verb} {asked}"
            )
    if isinstance(queue, RandomShuffleQueue) and isinstance(wanted, RandomShuffleQueue):
        if queue.min_after_dequeue != wanted.min_after_dequeue:
            raise errors.invalid_argument(
                f"Shared queue '{name}' has min_after_dequeue {queue.min_after_dequeue} but "
                f"requested min_after_dequeue was {wanted.min_after_dequeue}."
            )
        if queue.seeds != wanted.seeds and any(wanted.seeds):
            raise errors.invalid_argument(
                f"Shared queue '{name}' has random seeds ({_seeds(queue)}) but requested seeds are "
                f"({_seeds(wanted)})."
            )


def _fits(queue: Queue, wanted: Queue) -> bool:
    """Return whether a padding queue's shapes match those of another one."""
    return isinstance(queue, PaddingFIFOQueue) and all(
        one.is_compatible_with(other) for one, other in zip(queue.shapes, wanted.shapes)
    )


def _seeds(queue: RandomShuffleQueue) -> str:
    return ", ".join(str(seed) for seed in queue.seeds)


def _types(queue: Queue) -> str:
    return ", ".join(type_word(dtype) for dtype in queue.types)


def _shapes(queue: Queue) -> str:
    return f"[{', '.join(shape_text(shape) for shape in queue.shapes)}]"


def _make(kind: type[Queue], ctx: OpKernelContext, **attrs: Any) -> ResourceHandle:
    types, shapes = list(attrs["component_types"]), list(attrs["shapes"])
    if kind is PriorityQueue:
        types, shapes = [dtypes.int64, *types], [SCALAR_SHAPE, *shapes]
    if shapes and len(shapes) != len(types):
        raise errors.invalid_argument(
            f"Different number of component types.  Types: "
            f"{', '.join(type_word(dtype) for dtype in types)}, Shapes: "
            f"[{', '.join(shape_text(shape) for shape in shapes)}]"
        )
    more: list[Array] = []
    if kind is RandomShuffleQueue:
        capacity, least = attrs["capacity"], attrs["min_after_dequeue"]
        if least < 0:
            raise errors.invalid_argument(f"min_after_dequeue {least} must be >= 0")
        if 0 <= capacity <= least:
            raise errors.invalid_argument(
                f"min_after_dequeue {least} must be < capacity {capacity}"
            )
        more = [least, attrs["seed"], attrs["seed2"]]

    def make(name: str) -> Queue:
        return kind(name, types, shapes, attrs["capacity"], *more)

    return own_resource(
        ctx,
        _TYPE,
        attrs["container"],
        attrs["shared_name"],
        make,
        lambda queue: _check_same(queue, make(queue.name), ctx.op_type),
    )


_FORM = (
    "component_types: list(type) >= 1",
    "shapes: list(shape) >= 0 = []",
    "capacity: int = -1",
)
_PRIORITY_FORM = (
    "component_types: list(type) >= 0 = []",
    "shapes: list(shape) >= 0",
    "capacity: int = -1",
)
_SHUFFLE = ("min_after_dequeue: int = 0", "seed: int = 0", "seed2: int = 0")
_NAMES = ("container: string = ''", "shared_name: string = ''")


@register_op(
    "FIFOQueueV2", "-> handle: resource", *_FORM, *_NAMES, stateful=True, shape=_handle_shape,
    devices=("CPU",),
)  # fmt: skip
def fifo_queue_v2(
    ctx: OpKernelContext,
    *,
    component_types: list[DType],
    shapes: list[TensorShape],
    capacity: int,
    container: str,
    shared_name: str,
) -> Handle:
    """Return a queue that returns elements in order of arrival."""
    return _make(
        Queue,
        ctx,
        component_types=component_types,
        shapes=shapes,
        capacity=capacity,
        container=container,
        shared_name=shared_name,
    )


@register_op(
    "PaddingFIFOQueueV2", "-> handle: resource", *_FORM, *_NAMES, stateful=True,
    shape=_handle_shape, devices=("CPU",),
)  # fmt: skip
def padding_fifo_queue_v2(
    ctx: OpKernelContext,
    *,
    component_types: list[DType],
    shapes: list[TensorShape],
    capacity: int,
    container: str,
    shared_name: str,
) -> Handle:
    """Return a FIFO queue whose batches are padded where sizes differ."""
    return _make(
        PaddingFIFOQueue,
        ctx,
        component_types=component_types,
        shapes=shapes,
        capacity=capacity,
        container=container,
        shared_name=shared_name,
    )


@register_op(
    "PriorityQueueV2", "-> handle: resource", *_PRIORITY_FORM, *_NAMES, stateful=True,
    shape=_handle_shape, devices=("CPU",),
)  # fmt: skip
def priority_queue_v2(
    ctx: OpKernelContext,
    *,
    component_types: list[DType],
    shapes: list[TensorShape],
    capacity: int,
    container: str,
    shared_name: str,
) -> Handle:
    """Return a queue that returns the element with the lowest first component."""
    return _make(
        PriorityQueue,
        ctx,
        component_types=component_types,
        shapes=shapes,
        capacity=capacity,
        container=container,
        shared_name=shared_name,
    )


@register_op(
    "RandomShuffleQueueV2", "-> handle: resource", *_FORM, *_SHUFFLE, *_NAMES, stateful=True,
    shape=_handle_shape, devices=("CPU",),
    traits="unseen_state",
)  # fmt: skip
def random_shuffle_queue_v2(
    ctx: OpKernelContext,
    *,
    component_types: list[DType],
    shapes: list[TensorShape],
    capacity: int,
    min_after_dequeue: int,
    seed: int,
    seed2: int,
    container: str,
    shared_name: str,
) -> Handle:
    """Return a queue that returns random elements."""
    return _make(
        RandomShuffleQueue,
        ctx,
        component_types=component_types,
        shapes=shapes,
        capacity=capacity,
        min_after_dequeue=min_after_dequeue,
        seed=seed,
        seed2=seed2,
        container=container,
        shared_name=shared_name,
    )


def _first_version(name: str, form: tuple[str, ...], kind: type[Queue]) -> Any:
    """Return the first version of a queue: its handle is a reference to container and name."""
    if kind is RandomShuffleQueue:

        @register_op(
            name, "-> handle: Ref(string)", *form, *_SHUFFLE, *_NAMES, stateful=True,
            shape=pair_shape, devices=("CPU",), traits="unseen_state",
        )  # fmt: skip
        def shuffle(
            ctx: OpKernelContext,
            *,
            component_types: list[DType],
            shapes: list[TensorShape],
            capacity: int,
            min_after_dequeue: int,
            seed: int,
            seed2: int,
            container: str,
            shared_name: str,
        ) -> Array:
            """Return the first version of the queue, as a reference."""
            attrs = dict(locals())
            del attrs["ctx"], attrs["kind"]
            return as_reference(ctx, _make(kind, ctx, **attrs))

        return shuffle

    @register_op(
        name, "-> handle: Ref(string)", *form, *_NAMES, stateful=True, shape=pair_shape,
        devices=("CPU",),
    )  # fmt: skip
    def plain(
        ctx: OpKernelContext,
        *,
        component_types: list[DType],
        shapes: list[TensorShape],
        capacity: int,
        container: str,
        shared_name: str,
    ) -> Array:
        """Return the first version of the queue, as a reference."""
        attrs = {
            "component_types": component_types,
            "shapes": shapes,
            "capacity": capacity,
            "container": container,
            "shared_name": shared_name,
        }
        return as_reference(ctx, _make(kind, ctx, **attrs))

    return plain


fifo_queue_op = _first_version("FIFOQueue", _FORM, Queue)
padding_fifo_queue_op = _first_version("PaddingFIFOQueue", _FORM, PaddingFIFOQueue)
priority_queue_op = _first_version("PriorityQueue", _PRIORITY_FORM, PriorityQueue)
random_shuffle_queue_op = _first_version("RandomShuffleQueue", _FORM, RandomShuffleQueue)


# -- putting in and taking out, for both kinds of handles


def _find(ctx: OpKernelContext, handle: Handle) -> Queue:
    found: Queue = find_resource(ctx, handle, _TYPE, Queue)
    return found


def _check_types(ctx: OpKernelContext, queue: Queue, attr: str, after: str = "") -> None:
    """Refuse an op whose components do not match the queue's.

    ``after`` is the text of the op's inputs after the handle.
    """
    types: list[Array] = list(ctx.attrs[attr])
    if list(queue.types) == types:
        return
    have = ", ".join(type_word(dtype) for dtype in types)
    handle = "string_ref" if ctx.op_type in _FIRST_OPS else "resource"
    if attr == "Tcomponents":
        text = f"{handle}, {have}-> expected: {handle}, {_types(queue)}->"
    else:
        text = f"{handle}{after}->{have} expected: {handle}{after}->{_types(queue)}"
    raise errors.invalid_argument(f"Signature mismatch, have: {text}")


_FIRST_OPS = frozenset(
    ["QueueEnqueue", "QueueEnqueueMany", "QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo"]
)


def _enqueue(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, components: list[Array]
) -> None:
    queue = _find(ctx, handle)
    _check_types(ctx, queue, "Tcomponents")
    element = tuple(components)
    queue.check_element(element)
    queue.enqueue([element], done, ctx.cancellation_manager)


def _enqueue_many(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, components: list[Array]
) -> None:
    queue = _find(ctx, handle)
    _check_types(ctx, queue, "Tcomponents")
    queue.check_many(components)
    rows = [
        tuple(_row(component[index]) for component in components)
        for index in range(len(components[0]))
    ]
    queue.enqueue(rows, done, ctx.cancellation_manager)


def _row(value: Array) -> Array:
    """Return a row as a tensor that does not keep its batch in memory.

    A scalar string becomes an array again; a view is copied.
    """
    if isinstance(value, bytes):
        return np.array(value, dtype=object)
    return value.copy() if isinstance(value, np.ndarray) else value


def _dequeue(ctx: OpKernelContext, done: type_of_done, handle: Handle) -> None:
    queue = _find(ctx, handle)
    _check_types(ctx, queue, "component_types")

    def taken(answer: Array) -> None:
        done(answer if isinstance(answer, BaseException) else answer[0])

    queue.dequeue(1, taken, ctx.cancellation_manager)


def _dequeue_many(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, n: Array, *, small_batch: bool
) -> None:
    queue = _find(ctx, handle)
    _check_types(ctx, queue, "component_types", ", int32")
    if np.ndim(n):
        raise errors.invalid_argument(f"n must be a scalar, not of shape {list(np.shape(n))}")
    count = int(n)
    if count < 0:
        op = "DequeueUpToOp" if small_batch else "DequeueManyOp"
        raise errors.invalid_argument(f"{op} requested {count} < 0 elements")
    if len(queue.shapes) != len(queue.types):
        raise errors.invalid_argument(
            f"{queue.kind}'s DequeueMany and DequeueUpTo require the components to have specified "
            "shapes."
        )
    xp = ctx.xp
    if not count:
        done(queue.stack(xp, []))
        return

    def taken(answer: Array) -> None:
        if isinstance(answer, BaseException):
            done(answer)
            return
        try:
            done(queue.stack(xp, answer))
        except (ValueError, MemoryError) as error:
            done(error)

    queue.dequeue(count, taken, ctx.cancellation_manager, small_batch)


def _close(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, cancel_pending_enqueues: bool
) -> None:
    queue = _find(ctx, handle)
    if cancel_pending_enqueues:
        queue.close()
        done(None)
    else:
        queue.close_in_turn(done, ctx.cancellation_manager)


_COMPONENTS = ("Tcomponents: list(type) >= 1", "timeout_ms: int = -1")
_DEQUEUED = ("component_types: list(type) >= 1", "timeout_ms: int = -1")


@register_op(
    "QueueEnqueueV2", "handle: resource, *components: Tcomponents ->", *_COMPONENTS,
    stateful=True, shape=no_outputs, devices=("CPU",),
    traits="puts_elements",
)  # fmt: skip
def queue_enqueue_v2(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, components: list[Array]
) -> None:
    """Put one element in; wait while the queue is full."""
    _enqueue(ctx, done, handle, components)


@register_op(
    "QueueEnqueueManyV2", "handle: resource, *components: Tcomponents ->", *_COMPONENTS,
    stateful=True, shape=no_outputs, devices=("CPU",),
    traits="puts_elements",
)  # fmt: skip
def queue_enqueue_many_v2(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, components: list[Array]
) -> None:
    """Put in one element for each row of the components."""
    _enqueue_many(ctx, done, handle, components)


@register_op(
    "QueueDequeueV2", "handle: resource -> *components: component_types", *_DEQUEUED,
    stateful=True, shape=_dequeued, devices=("CPU",),
    traits="takes_elements",
)  # fmt: skip
def queue_dequeue_v2(ctx: OpKernelContext, done: type_of_done, handle: Handle) -> None:
    """Take one element out; wait while the queue is empty."""
    _dequeue(ctx, done, handle)


@register_op(
    "QueueDequeueManyV2", "handle: resource, n: int32 -> *components: component_types",
    *_DEQUEUED, stateful=True, shape=_dequeued_many, devices=("CPU",),
    traits="takes_elements",
)  # fmt: skip
def queue_dequeue_many_v2(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, n: Array
) -> None:
    """Take ``n`` elements out, stacked; wait until there are enough."""
    _dequeue_many(ctx, done, handle, n, small_batch=False)


@register_op(
    "QueueDequeueUpToV2", "handle: resource, n: int32 -> *components: component_types",
    *_DEQUEUED, stateful=True, shape=_dequeued_up_to, devices=("CPU",),
    traits="takes_elements",
)  # fmt: skip
def queue_dequeue_up_to_v2(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, n: Array
) -> None:
    """Take ``n`` elements out, or the remaining ones of a closed queue."""
    _dequeue_many(ctx, done, handle, n, small_batch=True)


@register_op(
    "QueueCloseV2", "handle: resource ->", "cancel_pending_enqueues: bool = false",
    stateful=True, shape=no_outputs, devices=("CPU",),
    traits="closes",
)  # fmt: skip
def queue_close_v2(
    ctx: OpKernelContext, done: type_of_done, handle: Handle, *, cancel_pending_enqueues: bool
) -> None:
    """Close the queue for enqueues; waiting ones finish first, unless they are cancelled."""
    _close(ctx, done, handle, cancel_pending_enqueues)


@register_op(
    "QueueSizeV2", "handle: resource -> size: int32", stateful=True, shape=_scalar,
    devices=("CPU",),
)  # fmt: skip
def queue_size_v2(ctx: OpKernelContext, handle: Handle) -> Array:
    """Return the number of elements."""
    return np.int32(_find(ctx, handle).size())


@register_op(
    "QueueIsClosedV2", "handle: resource -> is_closed: bool", stateful=True, shape=_scalar,
    devices=("CPU",),
)  # fmt: skip
def queue_is_closed_v2(ctx: OpKernelContext, handle: Handle) -> Array:
    """Return whether the queue was closed."""
    return np.bool_(_find(ctx, handle).is_closed)


@register_op(
    "QueueEnqueue", "handle: Ref(string), *components: Tcomponents ->", *_COMPONENTS,
    shape=no_outputs, devices=("CPU",),
    traits="puts_elements",
)  # fmt: skip
def queue_enqueue(
    ctx: OpKernelContext, done: type_of_done, handle: RefCell, components: list[Array]
) -> None:
    """Put one element in; wait while the queue is full."""
    _enqueue(ctx, done, handle, components)


@register_op(
    "QueueEnqueueMany", "handle: Ref(string), *components: Tcomponents ->", *_COMPONENTS,
    shape=no_outputs, devices=("CPU",),
    traits="puts_elements",
)  # fmt: skip
def queue_enqueue_many(
    ctx: OpKernelContext, done: type_of_done, handle: RefCell, components: list[Array]
) -> None:
    """Put in one element for each row of the components."""
    _enqueue_many(ctx, done, handle, components)


@register_op(
    "QueueDequeue", "handle: Ref(string) -> *components: component_types", *_DEQUEUED,
    devices=("CPU",),
    traits="takes_elements",
)  # fmt: skip
def queue_dequeue(ctx: OpKernelContext, done: type_of_done, handle: RefCell) -> None:
    """Take one element out; wait while the queue is empty."""
    _dequeue(ctx, done, handle)


@register_op(
    "QueueDequeueMany", "handle: Ref(string), n: int32 -> *components: component_types",
    *_DEQUEUED, devices=("CPU",),
    traits="takes_elements",
)  # fmt: skip
def queue_dequeue_many(ctx: OpKernelContext, done: type_of_done, handle: RefCell, n: Array) -> None:
    """Take ``n`` elements out, stacked; wait until there are enough."""
    _dequeue_many(ctx, done, handle, n, small_batch=False)


@register_op(
    "QueueDequeueUpTo", "handle: Ref(string), n: int32 -> *components: component_types",
    *_DEQUEUED, devices=("CPU",),
    traits="takes_elements",
)  # fmt: skip
def queue_dequeue_up_to(
    ctx: OpKernelContext, done: type_of_done, handle: RefCell, n: Array
) -> None:
    """Take ``n`` elements out, or the remaining ones of a closed queue."""
    _dequeue_many(ctx, done, handle, n, small_batch=True)


@register_op(
    "QueueClose", "handle: Ref(string) ->", "cancel_pending_enqueues: bool = false",
    shape=no_outputs, devices=("CPU",),
    traits="closes",
)  # fmt: skip
def queue_close(
    ctx: OpKernelContext, done: type_of_done, handle: RefCell, *, cancel_pending_enqueues: bool
) -> None:
    """Close the queue for enqueues; waiting ones finish first, unless they are cancelled."""
    _close(ctx, done, handle, cancel_pending_enqueues)


@register_op("QueueSize", "handle: Ref(string) -> size: int32", shape=_scalar, devices=("CPU",))
def queue_size(ctx: OpKernelContext, handle: RefCell) -> Array:
    """Return the number of elements."""
    return np.int32(_find(ctx, handle).size())


@register_op(
    "QueueIsClosed", "handle: Ref(string) -> is_closed: bool", shape=_scalar, devices=("CPU",)
)
def queue_is_closed(ctx: OpKernelContext, handle: RefCell) -> Array:
    """Return whether the queue was closed."""
    return np.bool_(_find(ctx, handle).is_closed)


@register_op(
    "FakeQueue", "resource: resource -> handle: Ref(string)", stateful=True, shape=pair_shape,
    devices=("CPU",),
)  # fmt: skip
def fake_queue(ctx: OpKernelContext, resource: Handle) -> Array:
    """Return the handle of a queue as a handle of the first version."""
    return as_reference(ctx, resource)


for _op in (
    queue_enqueue_v2, queue_enqueue_many_v2, queue_dequeue_v2, queue_dequeue_many_v2,
    queue_dequeue_up_to_v2, queue_close_v2, queue_size_v2, queue_enqueue, queue_enqueue_many,
    queue_dequeue, queue_dequeue_many, queue_dequeue_up_to, queue_close, queue_size,
):  # fmt: skip
    _op.not_differentiable()
