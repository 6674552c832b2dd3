"""Barriers: elements by key whose components arrive separately, taken when complete.

Keys are served in the order of the insertion that first named them. Closing refuses new keys;
incomplete keys may still get their components, unless the close cancels them. A take that must wait
holds no thread. Corresponds to ``barrier_ops.cc``.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tfnb.core import errors
from tfnb.core.node_text import shape_text, type_word
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.resource_mgr import owned
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext, no_outputs
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.attempts import NOT_YET, Attempt, Attempts
from tfnb.ops.base.named_resources import as_reference, find_resource, own_resource, pair_shape
from tfnb.ops.waiting.queue_kernels import stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.cancellation import CancellationManager
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Outputs
    from tfnb.core.op_kernel import OpKernelContext, type_of_done
    from tfnb.core.resource_mgr import RefCell

_TYPE = "Barrier"
_FIRST_INDEX: Final = -(1 << 63)


class Barrier:
    """Complete and incomplete elements by key; thread-safe.

    Args:
      name: the name in error messages.
      types: the dtype of each component.
      shapes: the shape of each component.
    """

    def __init__(self, name: str, types: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        self.name = name
        self.types = list(types)
        self.shapes = list(shapes)
        self._attempts = Attempts()
        # The following attributes are guarded by self._attempts.lock
        self._incomplete: dict[bytes, tuple[int, list[Array]]] = {}
        self._ready: list[tuple[int, int, bytes, list[Array]]] = []  # a heap
        self._order = itertools.count()
        self._insertions = 0
        self._is_closed = False
        self._is_cancelled = False

    def state_text(self, name: str) -> str:
        """Return the contents as text, for the report on a step that makes no progress."""
        return (
            f"barrier '{name}' ({len(self._ready)} whole elements, {len(self._incomplete)} "
            "incomplete ones)"
        )

    def ready_size(self) -> int:
        """Return the number of complete elements."""
        return len(self._ready)

    def incomplete_size(self) -> int:
        """Return the number of keys that lack a component."""
        return len(self._incomplete)

    def insert_many(self, component: int, keys: list[bytes], values: Array) -> None:
        """Insert a component for each key.

        Raises:
          InvalidArgumentError: the component's index or shape is wrong, it has no elements, or a
            key already has the component.
          CancelledError: the barrier is closed.
        """
        self._check(component, keys, values)
        kept = [owned(np.asarray(value, dtype=values.dtype)).copy() for value in values]

        def insert() -> None:
            self._check_open(keys)
            index = _FIRST_INDEX + self._insertions
            num_new = 0
            error = None
            ready = []
            # New entries of the keys; None: the element is complete.
            changed: dict[bytes, tuple[int, list[Array]] | None] = {}
            for key, value in zip(keys, kept):
                found = changed[key] if key in changed else self._incomplete.get(key)
                if found is None:
                    found, num_new = (index, [None] * len(self.types)), 1
                position, parts = found[0], list(found[1])
                if parts[component] is not None:
                    error = errors.invalid_argument(
                        f"Key {key.decode(errors='replace')} already has a value for component "
                        f"{component} in barrier {self.name}"
                    )
                    break
                parts[component] = value
                if any(part is None for part in parts):
                    changed[key] = (position, parts)
                else:
                    changed[key] = None
                    ready.append((position, next(self._order), key, parts))
            for key, entry in changed.items():
                if entry is None:
                    self._incomplete.pop(key, None)
                else:
                    self._incomplete[key] = entry
            for one in ready:
                heapq.heappush(self._ready, one)
            if error is not None:
                raise error
            self._insertions += num_new

        self._attempts.change(insert)

    def _check(self, component: int, keys: list[bytes], values: Array) -> None:
        if not 0 <= component < len(self.types):
            raise errors.invalid_argument(
                f"The component ID is out of range {component} > num_components "
                f"(= {len(self.types)})"
            )
        if not np.ndim(values) or len(values) != len(keys):
            raise errors.invalid_argument(
                f"There must be one value for each key: {len(keys)} keys, values of shape "
                f"{list(np.shape(values))}"
            )
        if keys and not values.size:
            raise errors.invalid_argument(
                f"Tensors with no elements are not supported {self.name}: received shape "
                f"{shape_text(TensorShape(list(values.shape)))}"
            )
        shape = self.shapes[component]
        found = TensorShape(list(values.shape[1:]))
        if not shape.is_compatible_with(found):
            # The op's outputs have the index and the key before the components.
            raise errors.invalid_argument(
                f"Shape mismatch in tuple component {component + 2}. Expected {shape_text(shape)}, "
                f"got {shape_text(found)}"
            )

    def _check_open(self, keys: list[bytes]) -> None:
        if not self._is_closed:
            return
        new = [key for key in dict.fromkeys(keys) if key not in self._incomplete]
        state = f"Pending enqueues cancelled: {int(self._is_cancelled)}."
        incomplete = f"Number of incomplete keys: {len(self._incomplete)}."
        if self._is_cancelled or (new and not self._incomplete):
            raise errors.cancelled(
                f"Barrier {self.name} is closed.  {state}  Number of new insertions: {len(new)}.  "
                f"{incomplete}"
            )
        if new:
            raise errors.cancelled(
                f"Barrier {self.name} is closed, but attempted to insert a brand new key: "
                f"{new[0].decode(errors='replace')}.  {state}  Insertion index: 0.  {incomplete}"
            )

    def take_many(
        self, count: int, allow_small: bool, done: type_of_done, manager: CancellationManager
    ) -> None:
        """Call ``done`` with a list of (index, key, parts)."""
        is_late: bool | None = None  # whether the barrier was closed at the request

        def serve() -> Outputs:
            nonlocal is_late
            if is_late is None:
                is_late = self._is_closed
            ready = len(self._ready)
            # allow_small_batch requests take what is complete; others keep waiting.
            few = is_late and allow_small
            may_grow = not few and (self._incomplete or not self._is_closed)
            is_hopeless = is_late and ready + len(self._incomplete) < count
            if ready < count and may_grow and not is_hopeless:
                return NOT_YET
            is_empty = not ready and (few or not self._incomplete)
            if (ready < count and not (allow_small and ready)) or (is_late and is_empty):
                raise errors.out_of_range(
                    f"Barrier '{self.name}' is closed and has insufficient elements "
                    f"(requested {0 if allow_small else count}, total size {ready})"
                )
            number = min(count, len(self._ready))
            taken: list[Array] = []
            try:
                while len(taken) < number:
                    taken.append(heapq.heappop(self._ready))
                return [(index, key, parts) for index, _, key, parts in taken]
            except KeyboardInterrupt:
                for one in taken:
                    heapq.heappush(self._ready, one)
                raise

        self._attempts.add(Attempt(serve, done, manager, "take", "Dequeue"))

    def close(self) -> None:
        """Close and cancel; also called when the session ends."""
        if not self._is_cancelled:
            self.close_with(cancel_pending=True)

    def close_with(self, *, cancel_pending: bool) -> None:
        """Refuse new keys, and with ``cancel_pending`` drop incomplete ones.

        Raises:
          CancelledError: the barrier is closed, and this close has no effect.
        """

        def close() -> None:
            if self._is_closed and (self._is_cancelled or not cancel_pending):
                raise errors.cancelled(f"Barrier '{self.name}' is already closed.")
            self._is_closed = True
            if cancel_pending:
                self._is_cancelled = True
                self._incomplete.clear()

        self._attempts.change(close)


def _take_shape(c: InferenceContext) -> Any:
    return [TensorShape(None)] * c.num_outputs


def _scalar(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


@register_op(
    "Barrier", "-> handle: Ref(string)", "component_types: list(type) >= 1",
    "shapes: list(shape) >= 0 = []", "capacity: int = -1", "container: string = ''",
    "shared_name: string = ''", stateful=True, shape=pair_shape, devices=("CPU",),
)  # fmt: skip
def barrier(
    ctx: OpKernelContext,
    *,
    component_types: list[DType],
    shapes: list[TensorShape],
    capacity: int,
    container: str,
    shared_name: str,
) -> Array:
    """Return a barrier: elements by key whose components arrive separately."""
    if len(shapes) != len(component_types):
        raise errors.invalid_argument("All of the component shapes must be specified")
    if capacity != -1:
        raise errors.invalid_argument(
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to "
            "enforce a limited capacity."
        )

    def check(found: Barrier) -> None:
        for what, here, asked in (
            ("types", _types(found.types), _types(component_types)),
            ("shapes", _shapes(found.shapes), _shapes(shapes)),
        ):
            if here != asked:
                raise errors.invalid_argument(
                    f"Shared barrier '{found.name}' has component {what} {here} but requested "
                    f"component {what} were {asked}"
                )

    handle = own_resource(
        ctx, _TYPE, container, shared_name, lambda name: Barrier(name, component_types, shapes),
        check,
    )  # fmt: skip
    return as_reference(ctx, handle)


def _types(types: Sequence[DType]) -> str:
    return ", ".join(type_word(dtype) for dtype in types)


def _shapes(shapes: Sequence[TensorShape]) -> str:
    return f"[{', '.join(shape_text(shape) for shape in shapes)}]"


def _find(ctx: OpKernelContext, handle: Handle) -> Barrier:
    found: Barrier = find_resource(ctx, handle, _TYPE, Barrier)
    return found


@register_op(
    "BarrierInsertMany", "handle: Ref(string), keys: string, values: T ->", "T: type",
    "component_index: int", shape=no_outputs, devices=("CPU",),
    traits="puts_elements",
)  # fmt: skip
def barrier_insert_many(
    ctx: OpKernelContext,
    handle: RefCell,
    keys: Array,
    values: Array,
    *,
    T: DType,
    component_index: int,
) -> None:
    """Insert a component for each key; the last one completes its element."""
    found = _find(ctx, handle)
    if np.ndim(keys) != 1:
        raise errors.invalid_argument(f"keys must be a vector, not {list(np.shape(keys))}")
    if 0 <= component_index < len(found.types) and found.types[component_index] is not T:
        expected = type_word(found.types[component_index])
        raise errors.invalid_argument(
            f"Signature mismatch, have: string_ref, string, {type_word(T)}-> expected: "
            f"string_ref, string, {expected}->"
        )
    found.insert_many(component_index, [bytes(key) for key in keys.tolist()], values)


@register_op(
    "BarrierTakeMany",
    "handle: Ref(string), num_elements: int32 -> indices: int64, keys: string, "
    "*values: component_types",
    "component_types: list(type) >= 1", "allow_small_batch: bool = false",
    "wait_for_incomplete: bool = false", "timeout_ms: int = -1", shape=_take_shape,
    devices=("CPU",),
    traits="takes_elements",
)  # fmt: skip
def barrier_take_many(
    ctx: OpKernelContext,
    done: type_of_done,
    handle: RefCell,
    num_elements: Array,
    *,
    component_types: list[DType],
    allow_small_batch: bool,
) -> None:
    """Take complete elements; wait until there are enough."""
    found = _find(ctx, handle)
    if found.types != list(component_types):
        raise errors.invalid_argument(
            f"Signature mismatch, have: string_ref, int32->int64, string, "
            f"{_types(component_types)} expected: string_ref, int32->int64, string, "
            f"{_types(found.types)}"
        )
    if np.ndim(num_elements) or num_elements < 0:
        raise errors.invalid_argument(
            f"num_elements must be a scalar that is not negative, not {num_elements}"
        )

    def taken(answer: Array) -> None:
        if isinstance(answer, BaseException):
            done(answer)
            return
        keys = np.empty(len(answer), dtype=object)
        keys[:] = [key for _, key, _ in answer]
        try:
            values = [
                stacked([parts[i] for _, _, parts in answer], dtype, shape)
                for i, (dtype, shape) in enumerate(zip(found.types, found.shapes))
            ]
        except ValueError as error:
            done(errors.invalid_argument(f"Elements of barrier '{found.name}': {error}"))
            return
        done((np.asarray([index for index, _, _ in answer], dtype=np.int64), keys, *values))

    found.take_many(int(num_elements), allow_small_batch, taken, ctx.cancellation_manager)


@register_op(
    "BarrierClose", "handle: Ref(string) ->", "cancel_pending_enqueues: bool = false",
    shape=no_outputs, devices=("CPU",),
    traits="closes",
)  # fmt: skip
def barrier_close(ctx: OpKernelContext, handle: RefCell, *, cancel_pending_enqueues: bool) -> None:
    """Refuse new keys."""
    _find(ctx, handle).close_with(cancel_pending=cancel_pending_enqueues)


@register_op(
    "BarrierReadySize", "handle: Ref(string) -> size: int32", shape=_scalar, devices=("CPU",)
)
def barrier_ready_size(ctx: OpKernelContext, handle: RefCell) -> Array:
    """Return the number of complete elements."""
    return np.int32(_find(ctx, handle).ready_size())


@register_op(
    "BarrierIncompleteSize", "handle: Ref(string) -> size: int32", shape=_scalar,
    devices=("CPU",),
)  # fmt: skip
def barrier_incomplete_size(ctx: OpKernelContext, handle: RefCell) -> Array:
    """Return the number of keys that lack a component."""
    return np.int32(_find(ctx, handle).incomplete_size())


_op: OpDefinition
for _op in (
    barrier, barrier_insert_many, barrier_take_many, barrier_close, barrier_ready_size,
    barrier_incomplete_size,
):  # fmt: skip
    _op.not_differentiable()
