"""A mutex: MutexV2 creates it, MutexLock waits for it, ConsumeMutexLock releases it.

A lock that is not consumed is released at the end of its step, so that a failure inside a critical
section does not block other steps forever.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext, no_outputs
from tfnb.ops.base.attempts import NOT_YET, Attempt, Attempts
from tfnb.ops.base.named_resources import find_resource

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Handle, Variant
    from tfnb.core.op_kernel import OpKernelContext, type_of_done
    from tfnb.core.tensor_shape import TensorShape

_TYPE = "Mutex"
_lock_numbers = itertools.count()


class Mutex:
    """A mutex that one lock holds at a time; waiting requests are served in order of arrival."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._attempts = Attempts()
        self._holder: MutexLock | None = None  # guarded by self._attempts.lock

    def state_text(self, name: str) -> str:
        """Return the holder as text, for the report on a step that makes no progress."""
        return f"mutex '{name}' ({'free' if self._holder is None else 'held'})"

    def acquire(self, ctx: OpKernelContext, done: type_of_done) -> None:
        """Call ``done`` with a lock as soon as the mutex is free."""

        def serve() -> Array:
            if self._holder is not None:
                return NOT_YET
            lock = MutexLock(self)
            name = f"_{next(_lock_numbers)}_{self.name}"
            # The lock is registered before it is held, so that it is released in any case.
            ctx.step_container.create("", "MutexLock", name, lock)
            self._holder = lock
            return lock

        self._attempts.add(Attempt(serve, done, ctx.cancellation_manager, "lock", "Mutex lock"))

    def release(self, lock: MutexLock) -> None:
        """Release the mutex, if ``lock`` holds it, and serve the next request."""

        def let_go() -> None:
            if self._holder is lock:
                self._holder = None

        self._attempts.change(let_go)


class MutexLock:
    """The right to be inside the critical section, as a variant value."""

    shape = ()

    def __init__(self, mutex: Mutex) -> None:
        self.mutex = mutex

    def close(self) -> None:
        """Release the mutex, once."""
        self.mutex.release(self)


def _scalar(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


@register_op(
    "MutexV2", "-> resource: resource", "container: string = ''", "shared_name: string = ''",
    stateful=True, shape=_scalar, devices=("CPU",),
)  # fmt: skip
def mutex_v2(ctx: OpKernelContext, *, container: str, shared_name: str) -> Handle:
    """Return a mutex; nodes with the same shared name share one."""
    name = shared_name or ctx.node_name
    ctx.resource_manager.lookup_or_create(container, _TYPE, name, lambda: Mutex(name))
    return ctx.resource_manager.make_handle(name, _TYPE, container=container)


@register_op(
    "MutexLock", "mutex: resource -> mutex_lock: variant", stateful=True, shape=_scalar,
    devices=("CPU",),
)  # fmt: skip
def mutex_lock(ctx: OpKernelContext, done: type_of_done, mutex: Handle) -> None:
    """Wait until the mutex is free, and hold it."""
    found: Mutex = find_resource(ctx, mutex, _TYPE, Mutex)
    found.acquire(ctx, done)


@register_op(
    "ConsumeMutexLock", "mutex_lock: variant ->", stateful=True, shape=no_outputs,
    devices=("CPU",),
)  # fmt: skip
def consume_mutex_lock(ctx: OpKernelContext, mutex_lock: Variant) -> None:
    """Release the mutex."""
    if not isinstance(mutex_lock, MutexLock):
        raise errors.invalid_argument(
            f"Expected input to be a mutex lock, but saw a {type(mutex_lock).__name__}"
        )
    mutex_lock.close()


for _op in (mutex_v2, mutex_lock, consume_mutex_lock):
    _op.not_differentiable()
