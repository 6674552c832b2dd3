"""``tf.FIFOQueue`` and the other queues: the public classes for the queue ops."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes as dtypes_
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework import random_seed
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import device, init_scope, name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.waiting import queue_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "tf": ["QueueBase", "FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"],
    "io": ["QueueBase", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"],
    "queue": [
        "QueueBase", "FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue",
    ],
}  # fmt: skip


class QueueBase:
    """The common part of all queues.

    An element is a tuple of tensors, one for each of ``dtypes``; a dict, if the queue has
    ``names``.
    """

    def __init__(
        self,
        dtypes: Sequence[Nested],
        shapes: Sequence[Nested] | None,
        names: Sequence[str] | None,
        queue_ref: Any,
    ) -> None:
        """Make a queue object for a handle.

        Args:
          dtypes: of the components.
          shapes: of the components, or None if unknown.
          names: of the components, or None.
          queue_ref: the handle.

        Raises:
          ValueError: there are more or fewer shapes or names than dtypes.
        """
        self._dtypes = list(dtypes)
        count = len(self._dtypes)
        if shapes is not None and len(shapes) != count:
            raise ValueError(
                f"Queue shapes must have the same length as dtypes, received len(shapes)="
                f"{len(shapes)}, len(dtypes)={count}"
            )
        if names is not None and len(names) != count:
            raise ValueError(
                "Queue names must have the same length as dtypes,received len(names)="
                f"{len(names)},len {count}"
            )
        self._shapes = [TensorShape(shape) for shape in shapes or [None] * count]
        self._names = None if names is None else list(names)
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @property
    def queue_ref(self) -> TensorResult:
        """The handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the queue's op."""
        found: str = self._queue_ref.op.name
        return found

    @property
    def dtypes(self) -> list[DType]:
        """The dtype of each component."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component, as far as it is known."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The name of each component, or None."""
        return self._names

    def _components(self, values: TensorLike) -> list[Nested]:
        """Return the components of an element as tensors, in order.

        Raises:
          ValueError: names are missing or unknown.
        """
        if isinstance(values, Mapping):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(values, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"{sorted(values, key=str)},Queue: {sorted(self._names)}"
                )
            values = [values[name] for name in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            if not isinstance(values, list | tuple):
                values = [values]
        return [
            convert_to_tensor(value, dtype=dtype, name=f"component_{position}")
            for position, (value, dtype) in enumerate(zip(values, self._dtypes))
        ]

    def _element(self, found: Any) -> Any:
        """Return the result of a dequeue: a dict by names, one tensor, or a list."""
        tensors = list(found) if isinstance(found, list | tuple) else [found]
        if self._names is not None:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def enqueue(self, vals: TensorLike, name: str | None = None) -> TensorResult:
        """Return an op that adds one element; it waits while the queue is full.

        Args:
          vals: a tensor for each component; a dict if the queue has names.
          name: of the op.

        Raises:
          ValueError: names or shapes are not the queue's.
        """
        with name_scope(name, f"{self._name}_enqueue", _listed(vals)) as scope:
            values = self._components(vals)
            for value, shape in zip(values, self._shapes):
                value.shape.assert_is_compatible_with(shape)
            if self._is_resource:
                return queue_ops.queue_enqueue_v2(self._queue_ref, values, name=scope)
            return queue_ops.queue_enqueue(self._queue_ref, values, name=scope)

    def enqueue_many(self, vals: TensorLike, name: str | None = None) -> TensorResult:
        """Return an op that adds one element for each row of ``vals``."""
        with name_scope(name, f"{self._name}_EnqueueMany", _listed(vals)) as scope:
            values = self._components(vals)
            lead = values[0].shape.with_rank_at_least(1)[0]
            for value, shape in zip(values, self._shapes):
                lead = lead.merge_with(value.shape.with_rank_at_least(1)[0])
                value.shape[1:].assert_is_compatible_with(shape)
            if self._is_resource:
                return queue_ops.queue_enqueue_many_v2(self._queue_ref, values, name=scope)
            return queue_ops.queue_enqueue_many(self._queue_ref, values, name=scope)

    @property
    def _is_resource(self) -> bool:
        return self._queue_ref.dtype is dtypes_.resource

    def dequeue(self, name: str | None = None) -> Nested:
        """Dequeue one element; the op waits while there is none."""
        found = queue_ops.queue_dequeue_v2(
            self._queue_ref, self._dtypes, name=name or f"{self._name}_Dequeue"
        )
        for tensor, shape in zip(_tensors(found), self._shapes):
            tensor.set_shape(shape)
        return self._element(found)

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Nested:
        """Dequeue ``n`` elements, each component stacked along a new first dimension."""
        found = queue_ops.queue_dequeue_many_v2(
            self._queue_ref, n, self._dtypes, name=name or f"{self._name}_DequeueMany"
        )
        self._set_batch_shapes(found)
        return self._element(found)

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Nested:
        """Dequeue ``n`` elements, or the last ones of a closed queue."""
        found = queue_ops.queue_dequeue_up_to_v2(
            self._queue_ref, n, self._dtypes, name=name or f"{self._name}_DequeueUpTo"
        )
        self._set_batch_shapes(found)
        return self._element(found)

    def _set_batch_shapes(self, found: Any) -> None:
        for tensor, shape in zip(_tensors(found), self._shapes):
            tensor.set_shape(TensorShape([None]).concatenate(shape))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> TensorResult:
        """Return an op that closes the queue: it rejects enqueues from then on."""
        return queue_ops.queue_close_v2(
            self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_Close",
        )

    def is_closed(self, name: str | None = None) -> TensorResult:
        """Return whether the queue was closed, a scalar bool."""
        return queue_ops.queue_is_closed_v2(self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> TensorResult:
        """Return the number of elements in the queue, a scalar int32."""
        return queue_ops.queue_size_v2(self._queue_ref, name=name or f"{self._name}_Size")

    @staticmethod
    def from_list(index: TensorLike, queues: Sequence[QueueBase]) -> QueueBase:
        """Return the queue at ``index`` of several that hold the same kind of element.

        Raises:
          TypeError: ``queues`` has other values, or queues of different dtypes or names.
        """
        is_list = isinstance(queues, list) and bool(queues)
        if not is_list or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(queue.dtypes != first.dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(queue.names != first.names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [_common(s) for s in zip(*(queue.shapes for queue in queues))]
        handle = array_ops.gather(array_ops.stack([q.queue_ref for q in queues]), index)
        return QueueBase(first.dtypes, shapes, first.names, handle)


def _tensors(found: Any) -> list[TensorResult]:
    return list(found) if isinstance(found, list | tuple) else [found]


def _listed(values: TensorLike) -> list[TensorResult]:
    if isinstance(values, Mapping):
        return list(values.values())
    return list(values) if isinstance(values, list | tuple) else [values]


def _common(shapes: Sequence[TensorShape]) -> TensorShape:
    """Return the most specific shape that all the given shapes are compatible with."""
    ranks = {shape.rank for shape in shapes}
    if None in ranks or len(ranks) > 1:
        return TensorShape(None)
    rows = (shape.as_list() for shape in shapes)
    return TensorShape([sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*rows)])


def _as_types(given: Any) -> list[Nested]:
    listed = list(given) if isinstance(given, list | tuple) else [given]
    return [dtypes_.as_dtype(one) for one in listed]


def _as_shapes(
    given: Any, *, may_be_unknown: bool = False, may_lack_rank: bool = False
) -> list[TensorShape] | None:
    """Return a list of shapes for an argument; a single shape becomes a list of one.

    Raises:
      ValueError: a shape is less defined than required.
      TypeError: the argument does not consist of shapes.
    """
    if may_be_unknown and (
        not isinstance(given, Sequence)
        or not given
        or any(shape is None or isinstance(shape, int) for shape in given)
    ):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if given is None:
        return None
    if isinstance(given, TensorShape):
        given = [given]
    if not isinstance(given, list | tuple):
        raise TypeError(
            "Shapes must be a TensorShape or a list or tuple of TensorShapes, got "
            f"{type(given)} instead."
        )
    if all(shape is None or isinstance(shape, int) for shape in given):
        given = [given]
    shapes = [TensorShape(shape) for shape in given]
    if not may_be_unknown and not all(shape.is_fully_defined() for shape in shapes):
        raise ValueError(f"All shapes must be fully defined: {shapes}")
    if not may_lack_rank and any(shape.rank is None for shape in shapes):
        raise ValueError(f"All shapes must have a defined rank: {shapes}")
    return shapes


def _as_names(given: Any, count: int) -> list[str] | None:
    if given is None:
        return None
    names = [given] if isinstance(given, str) else list(given)
    if len(names) != count:
        raise ValueError(
            "List of names must have the same length as the list of dtypes, received len(names)="
            f"{len(names)},len(dtypes)={count}"
        )
    return names


class FIFOQueue(QueueBase):
    """A queue that returns elements in the order of their arrival.

    Args:
      capacity: the maximum number of elements; negative for no limit.
      dtypes: of the components.
      shapes: of the components, fully defined; needed for ``dequeue_many``.
      names: of the components; elements are dicts then.
      shared_name: a name under which the graphs of several sessions share one queue.
      name: of the op.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Nested,
        shapes: Nested | None = None,
        names: TensorLike | None = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        types = _as_types(dtypes)
        shape_list = _as_shapes(shapes)
        with init_scope(), device("CPU"):
            handle = queue_ops.fifo_queue_v2(
                component_types=types,
                shapes=shape_list or [],
                capacity=capacity,
                shared_name=shared_name or "",
                name=name,
            )
        super().__init__(types, shape_list, _as_names(names, len(types)), handle)


class PaddingFIFOQueue(QueueBase):
    """A FIFO queue whose components may have unknown sizes; batches are padded with zeros."""

    def __init__(
        self,
        capacity: int,
        dtypes: Nested,
        shapes: Nested,
        names: TensorLike | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = _as_types(dtypes)
        shape_list = _as_shapes(shapes, may_be_unknown=True)
        assert shape_list is not None
        if len(shape_list) != len(types):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(types)} dtypes and "
                f"{len(shape_list)} shapes."
            )
        handle = queue_ops.padding_fifo_queue_v2(
            component_types=types,
            shapes=shape_list,
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, shape_list, _as_names(names, len(types)), handle)


class PriorityQueue(QueueBase):
    """A queue that returns the element with the lowest first component, an int64."""

    def __init__(
        self,
        capacity: int,
        types: Nested,
        shapes: Nested | None = None,
        names: TensorLike | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        others = _as_types(types)
        shape_list = _as_shapes(shapes)
        if shape_list is None:
            raise TypeError(
                "Expected list for 'shapes' argument to 'priority_queue_v2' Op, not None."
            )
        handle = queue_ops.priority_queue_v2(
            component_types=others,
            shapes=shape_list,
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        all_types = [dtypes_.int64, *others]
        all_shapes = [TensorShape([]), *shape_list]
        super().__init__(all_types, all_shapes, _as_names(names, len(all_types)), handle)


class RandomShuffleQueue(QueueBase):
    """A queue that returns a random element; it keeps ``min_after_dequeue`` while it is open."""

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Nested,
        shapes: Nested | None = None,
        names: TensorLike | None = None,
        seed: TensorLike | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types = _as_types(dtypes)
        shape_list = _as_shapes(shapes)
        seed1, seed2 = random_seed.get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        elif seed is None and shared_name is not None:
            # All graphs that share the queue must use the same seed.
            digest = hashlib.md5(f"{seed1}{shared_name}".encode(), usedforsecurity=False)
            seed2 = int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF
        handle = queue_ops.random_shuffle_queue_v2(
            component_types=types,
            shapes=shape_list or [],
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1 or 0,
            seed2=seed2 or 0,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, shape_list, _as_names(names, len(types)), handle)
