"""Batches: elements of one or several sources, gathered in a queue, in order or shuffled.

Every function here configures :class:`_Batch` in two ways: the producers of elements (one source in
several threads, or several sources), and the kind of queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.indexed_slices import convert_n_to_tensor_or_indexed_slices
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.smart_cond import smart_cond
from tfnb.library.queues.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from tfnb.library.training.input import add_fullness_summary
from tfnb.library.training.queue_runner import QueueRunner, add_queue_runner
from tfnb.library.training.sparse_elements import restore_sparse_tensors, store_sparse_tensors
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.data_flow_ops import dynamic_partition
from tfnb.ops.control.control_flow_ops import no_op
from tfnb.ops.math.cwise_binary_ops import maximum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "train": [
        "batch", "maybe_batch", "batch_join", "maybe_batch_join", "shuffle_batch",
        "maybe_shuffle_batch", "shuffle_batch_join", "maybe_shuffle_batch_join",
    ],
}  # fmt: skip


class _Batch:
    """The common part of these functions, for a given queue."""

    def __init__(
        self,
        sources: Sequence[TensorLike],
        kind: str,
        enqueue_many: bool,
        shapes: Nested,
        keep_input: TensorLike,
    ) -> None:
        self.kind = kind
        self.enqueue_many = enqueue_many
        self._original = sources[0] if sources else None
        _check_keys(sources)
        lists = [convert_n_to_tensor_or_indexed_slices(_as_list(one)) for one in sources]
        if not lists:
            raise ValueError("Expected at least one set of tensors")
        if not all(lists):
            raise ValueError("Expected at least one tensor in batch().")
        self.keep_input = _checked_keep_input(keep_input, enqueue_many)
        self.lists, self._sparse = store_sparse_tensors(lists, enqueue_many, self.keep_input)
        self.types = _common_types(self.lists)
        self.shapes = _common_shapes(self.lists, enqueue_many) if shapes is None else shapes

    def fill(self, queue: QueueBase, num_threads: int | None) -> None:
        """Add a queue runner: one thread per source, or ``num_threads`` for a single source."""
        put = queue.enqueue_many if self.enqueue_many else queue.enqueue

        def one(tensors: list[TensorLike]) -> Nested:
            if self.keep_input.shape.ndims == 1:
                return put(_selected(tensors, self.keep_input))
            return smart_cond(self.keep_input, lambda: put(tensors), no_op)

        ops = [one(tensors) for tensors in self.lists] * (num_threads or 1)
        add_queue_runner(QueueRunner(queue, ops))

    def take(self, queue: QueueBase, batch_size: TensorLike, smaller: bool, name: str) -> Any:
        """Dequeue a batch with the structure of the source."""
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        taken = take(batch_size, name=name)
        tensors = restore_sparse_tensors(taken, self._sparse)
        if isinstance(self._original, Mapping):
            return dict(zip(sorted(self._original), tensors))
        return tensors[0] if len(tensors) == 1 else tensors


def _check_keys(sources: Sequence[TensorLike]) -> None:
    """Reject dicts of sources that have different names."""
    keys = [set(one) if isinstance(one, Mapping) else None for one in sources]
    if any(one != keys[0] for one in keys):
        raise ValueError("All dictionaries in tensors_list must have the same keys")


def _as_list(tensors: TensorLike) -> list[Nested]:
    """Return the tensors in a fixed order; those of a dict sorted by name."""
    if isinstance(tensors, Mapping):
        return [tensors[name] for name in sorted(tensors)]
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]


def _flat(sources: Sequence[TensorLike]) -> list[Nested]:
    return [tensor for source in sources for tensor in _as_list(source)]


def _checked_keep_input(keep_input: TensorLike, enqueue_many: bool) -> TensorResult:
    keep_input = convert_to_tensor(keep_input)
    rank = keep_input.shape.ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep_input


def _selected(tensors: list[TensorLike], keep_input: TensorLike) -> list[Nested]:
    """Return the rows for which ``keep_input`` is true."""
    chosen = cast(keep_input, dtypes.int32)
    return [dynamic_partition(tensor, chosen, num_partitions=2)[1] for tensor in tensors]


def _common_types(lists: list[list[TensorLike]]) -> list[Any]:
    first, *others = ([tensor.dtype for tensor in tensors] for tensors in lists)
    for other in others:
        if other != first:
            raise TypeError(
                "Expected types to be consistent: "
                f"{', '.join(t.name for t in first)} vs. {', '.join(t.name for t in other)}."
            )
    return first


def _common_shapes(lists: list[list[TensorLike]], enqueue_many: bool) -> list[Nested]:
    for tensor in _flat(lists):
        if tensor.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor}")

    def of_element(tensor: TensorLike) -> TensorShape:
        found: TensorShape = tensor.shape
        return found.with_rank_at_least(1)[1:] if enqueue_many else found

    return [
        _common_shape([of_element(one) for one in tensors]).as_list() for tensors in zip(*lists)
    ]


def _common_shape(shapes: list[TensorShape]) -> TensorShape:
    """Return the first shape, if all are compatible with it; as TensorFlow, which merges none."""
    for other in shapes[1:]:
        shapes[0].merge_with(other)
    return shapes[0]


def _batched(
    kind: str,
    sources: Sequence[TensorLike],
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int | None,
    capacity: int,
    enqueue_many: bool,
    shapes: Nested,
    dynamic_pad: bool,
    allow_smaller_final_batch: bool,
    shared_name: str | None,
    name: str | None,
) -> Nested:
    with name_scope(name, kind, [*_flat(sources), keep_input]) as scope:
        batch_of = _Batch(sources, kind, enqueue_many, shapes, keep_input)
        make: Callable[..., QueueBase] = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = make(
            capacity=capacity,
            dtypes=batch_of.types,
            shapes=batch_of.shapes,
            shared_name=shared_name,
        )
        batch_of.fill(queue, num_threads)
        add_fullness_summary(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return batch_of.take(queue, batch_size, allow_smaller_final_batch, scope)


def _shuffled(
    kind: str,
    sources: Sequence[TensorLike],
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int | None,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None,
    enqueue_many: bool,
    shapes: Nested,
    allow_smaller_final_batch: bool,
    shared_name: str | None,
    name: str | None,
) -> Any:
    with name_scope(name, kind, [*_flat(sources), keep_input]) as scope:
        if capacity <= min_after_dequeue:
            raise ValueError(
                f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
            )
        batch_of = _Batch(sources, kind, enqueue_many, shapes, keep_input)
        queue = RandomShuffleQueue(
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed,
            dtypes=batch_of.types,
            shapes=batch_of.shapes,
            shared_name=shared_name,
        )
        batch_of.fill(queue, num_threads)
        add_fullness_summary(
            f"fraction_over_{min_after_dequeue}_of_{capacity - min_after_dequeue}_full",
            maximum(0, queue.size() - min_after_dequeue),
            capacity - min_after_dequeue,
        )
        return batch_of.take(queue, batch_size, allow_smaller_final_batch, scope)


def batch(
    tensors: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Nested | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Nested:
    """Return batches of an element, in the order of arrival.

    Args:
      tensors: an element, or with ``enqueue_many`` several: a tensor, a list, or a dict.
      batch_size: how many elements a batch has.
      num_threads: how many threads compute elements; more than one may change the order.
      capacity: the maximum number of waiting elements.
      enqueue_many: whether each row of the tensors is an element.
      shapes: the shapes of the components, if those of the tensors are unknown.
      dynamic_pad: whether elements of different sizes are padded with zeros.
      allow_smaller_final_batch: whether the remaining elements form a smaller last batch.
      shared_name: the name under which several sessions share the queue.
      name: the name of the ops.

    Returns:
      The structure of ``tensors``, with an added first dimension; for a list of one tensor, that
      tensor.

    Raises:
      ValueError: shapes are unknown.
    """
    return maybe_batch(
        tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch(
    tensors: TensorLike,
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Nested | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Nested:
    """Return :func:`batch` of the elements for which ``keep_input`` is true."""
    return _batched(
        "batch", [tensors], keep_input, batch_size, num_threads, capacity, enqueue_many, shapes,
        dynamic_pad, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def batch_join(
    tensors_list: Sequence[TensorLike],
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Nested | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Nested:
    """Return :func:`batch` of several sources, with one thread per source."""
    return maybe_batch_join(
        tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch_join(
    tensors_list: Sequence[TensorLike],
    keep_input: TensorLike,
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Nested | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Nested:
    """Return :func:`batch_join` of the elements for which ``keep_input`` is true."""
    return _batched(
        "batch_join", tensors_list, keep_input, batch_size, None, capacity, enqueue_many, shapes,
        dynamic_pad, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def shuffle_batch(
    tensors: TensorLike,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Nested | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Nested:
    """Return batches of an element in a random order.

    Args:
      tensors: an element, or with ``enqueue_many`` several: a tensor, a list, or a dict.
      batch_size: how many elements a batch has.
      capacity: the maximum number of waiting elements.
      min_after_dequeue: the minimum number of elements that stay in the queue, for mixing.
      num_threads: how many threads compute elements.
      seed: the seed of the order.
      enqueue_many: whether each row of the tensors is an element.
      shapes: the shapes of the components, if those of the tensors are unknown.
      allow_smaller_final_batch: whether the remaining elements form a smaller last batch.
      shared_name: the name under which several sessions share the queue.
      name: the name of the ops.

    Raises:
      ValueError: shapes are unknown, or ``capacity`` is too small.
    """
    return maybe_shuffle_batch(
        tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many,
        shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch(
    tensors: TensorLike,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Nested | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Nested:
    """Return :func:`shuffle_batch` of the elements for which ``keep_input`` is true."""
    return _shuffled(
        "shuffle_batch", [tensors], keep_input, batch_size, num_threads, capacity,
        min_after_dequeue, seed, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def shuffle_batch_join(
    tensors_list: Sequence[TensorLike],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Nested | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Nested:
    """Return :func:`shuffle_batch` of several sources, with one thread per source."""
    return maybe_shuffle_batch_join(
        tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list: Sequence[TensorLike],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Nested | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Nested:
    """Return :func:`shuffle_batch_join` of the elements for which ``keep_input`` is true."""
    return _shuffled(
        "shuffle_batch_join", tensors_list, keep_input, batch_size, None, capacity,
        min_after_dequeue, seed, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip
