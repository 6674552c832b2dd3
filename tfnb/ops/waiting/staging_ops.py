"""The ops of staging areas; see staging_kernels.py."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext, no_outputs
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.waiting.staging_kernels import StagingBuffer, StagingMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array
    from tfnb.core.op_kernel import OpKernelContext, type_of_done
    from tfnb.core.tensor_shape import TensorShape

_LIMITS = ("capacity: int >= 0 = 0", "memory_limit: int >= 0 = 0")
_SOME = (*_LIMITS, "dtypes: list(type) >= 1", "container: string = ''", "shared_name: string = ''")
_ANY = (*_LIMITS, "dtypes: list(type)", "container: string = ''", "shared_name: string = ''")


def _area(ctx: OpKernelContext, kind: str, make: Callable[..., Array]) -> Array:
    """Return the area of this node: by shared name, or a private one."""
    attrs = ctx.attrs
    name = (attrs["shared_name"] or b"").decode() or ctx.node_name
    container = (attrs["container"] or b"").decode()
    return ctx.resource_manager.lookup_or_create(
        container, kind, name, lambda: make(name, attrs["capacity"], attrs["memory_limit"])
    )


def _row(ctx: OpKernelContext) -> StagingBuffer:
    found: StagingBuffer = _area(ctx, "Staging", StagingBuffer)
    return found


def _map(ctx: OpKernelContext) -> StagingMap:
    is_ordered = ctx.op_type.startswith("Ordered")
    make = partial(StagingMap, num_components=len(ctx.attrs["dtypes"]), is_ordered=is_ordered)
    found: StagingMap = _area(ctx, "OrderedStagingMap" if is_ordered else "StagingMap", make)
    return found


def _scalar(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


# -- in a row


@register_op(
    "Stage", "*values: dtypes ->", *_SOME, stateful=True, shape=no_outputs, traits="keeps_state"
)
def stage(ctx: OpKernelContext, done: type_of_done, values: list[Array]) -> None:
    """Put a tuple in; wait while the area is full."""
    _row(ctx).put(values, done, ctx.cancellation_manager)


@register_op("Unstage", "-> *values: dtypes", *_SOME, stateful=True, traits="keeps_state")
def unstage(ctx: OpKernelContext, done: type_of_done) -> None:
    """Take the oldest tuple out; wait while there is none."""
    _row(ctx).get(done, ctx.cancellation_manager)


@register_op(
    "StagePeek",
    "index: int32 -> *values: dtypes",
    *_SOME,
    stateful=True,
    host_memory=("index",),
    traits="keeps_state",
)
def stage_peek(ctx: OpKernelContext, done: type_of_done, index: Array) -> None:
    """Return the tuple at a position, which stays in the area; wait until there is one."""
    _row(ctx).peek(_int(index), done, ctx.cancellation_manager)


@register_op(
    "StageSize",
    "-> size: int32",
    *_ANY,
    stateful=True,
    shape=_scalar,
    host_memory=("size",),
    traits="keeps_state",
)
def stage_size(ctx: OpKernelContext) -> Array:
    """Return the number of tuples."""
    return np.int32(_row(ctx).size())


@register_op("StageClear", "->", *_ANY, stateful=True, shape=no_outputs, traits="keeps_state")
def stage_clear(ctx: OpKernelContext) -> None:
    """Remove all tuples."""
    _row(ctx).clear()


# -- by key

_KEYED = "key: int64, indices: int32"
_FAKE = (
    *_LIMITS, "dtypes: list(type)", "fake_dtypes: list(type) >= 1", "container: string = ''",
    "shared_name: string = ''",
)  # fmt: skip


def _int(value: Array) -> int:
    if np.ndim(value):
        raise errors.invalid_argument(f"A scalar is expected, not {shape_text(np.shape(value))}")
    return int(value)


def _indices(value: Array) -> list[int]:
    found: list[int] = np.asarray(value).reshape(-1).tolist()
    return found


def _stage(
    ctx: OpKernelContext, done: type_of_done, key: Array, indices: Array, values: list[Array]
) -> None:
    """Put components of a key's tuple in; wait while the area is full."""
    chosen = _indices(indices)
    if len(chosen) != len(values):
        raise errors.invalid_argument(
            f"There are {len(chosen)} indices for {len(values)} values of key '{_int(key)}'"
        )
    _map(ctx).put(_int(key), chosen, values, done, ctx.cancellation_manager)


def _peek(ctx: OpKernelContext, done: type_of_done, key: Array, indices: Array) -> None:
    """Return components of a key's tuple, which stay in the area; wait until it is complete."""
    _map(ctx).peek(_int(key), _indices(indices), done, ctx.cancellation_manager)


def _unstage(ctx: OpKernelContext, done: type_of_done, key: Array, indices: Array) -> None:
    """Take components of a key's tuple out; wait until it is complete."""

    def taken(answer: Array) -> None:
        done(answer if isinstance(answer, BaseException) else tuple(answer[1]))

    _map(ctx).get(_int(key), _indices(indices), taken, ctx.cancellation_manager)


def _unstage_no_key(ctx: OpKernelContext, done: type_of_done, indices: Array) -> None:
    """Take components of any complete tuple out, with its key; wait until there is one."""

    def taken(answer: Array) -> None:
        if isinstance(answer, BaseException):
            done(answer)
        else:
            done((np.int64(answer[0]), *answer[1]))

    _map(ctx).get(None, _indices(indices), taken, ctx.cancellation_manager)


def _size(ctx: OpKernelContext) -> Array:
    """Return the number of keys with a complete tuple."""
    return np.int32(_map(ctx).size())


def _incomplete_size(ctx: OpKernelContext) -> Array:
    """Return the number of keys that lack a component."""
    return np.int32(_map(ctx).incomplete_size())


def _clear(ctx: OpKernelContext) -> None:
    """Remove all tuples."""
    _map(ctx).clear()


_HOST = ("key", "indices")

map_stage = register_op(
    "MapStage", f"{_KEYED}, *values: fake_dtypes ->", *_FAKE, stateful=True, shape=no_outputs,
    host_memory=_HOST,
    traits="keeps_state",
)(_stage)  # fmt: skip
map_peek = register_op(
    "MapPeek",
    f"{_KEYED} -> *values: dtypes",
    *_SOME,
    stateful=True,
    host_memory=_HOST,
    traits="keeps_state",
)(_peek)
map_unstage = register_op(
    "MapUnstage",
    f"{_KEYED} -> *values: dtypes",
    *_SOME,
    stateful=True,
    host_memory=_HOST,
    traits="keeps_state",
)(_unstage)
map_unstage_no_key = register_op(
    "MapUnstageNoKey", "indices: int32 -> key: int64, *values: dtypes", *_SOME, stateful=True,
    host_memory=_HOST,
    traits="keeps_state",
)(_unstage_no_key)  # fmt: skip
map_size = register_op(
    "MapSize",
    "-> size: int32",
    *_ANY,
    stateful=True,
    shape=_scalar,
    host_memory=("size",),
    traits="keeps_state",
)(_size)
map_incomplete_size = register_op(
    "MapIncompleteSize", "-> size: int32", *_ANY, stateful=True, shape=_scalar,
    host_memory=("size",),
    traits="keeps_state",
)(_incomplete_size)  # fmt: skip
map_clear = register_op(
    "MapClear", "->", *_ANY, stateful=True, shape=no_outputs, traits="keeps_state"
)(_clear)

ordered_map_stage = register_op(
    "OrderedMapStage", f"{_KEYED}, *values: fake_dtypes ->", *_FAKE, stateful=True,
    shape=no_outputs, host_memory=_HOST,
    traits="keeps_state",
)(_stage)  # fmt: skip
ordered_map_peek = register_op(
    "OrderedMapPeek",
    f"{_KEYED} -> *values: dtypes",
    *_SOME,
    stateful=True,
    host_memory=_HOST,
    traits="keeps_state",
)(_peek)
ordered_map_unstage = register_op(
    "OrderedMapUnstage",
    f"{_KEYED} -> *values: dtypes",
    *_SOME,
    stateful=True,
    host_memory=_HOST,
    traits="keeps_state",
)(_unstage)
ordered_map_unstage_no_key = register_op(
    "OrderedMapUnstageNoKey", "indices: int32 -> key: int64, *values: dtypes", *_SOME,
    stateful=True, host_memory=_HOST,
    traits="keeps_state",
)(_unstage_no_key)  # fmt: skip
ordered_map_size = register_op(
    "OrderedMapSize",
    "-> size: int32",
    *_ANY,
    stateful=True,
    shape=_scalar,
    host_memory=("size",),
    traits="keeps_state",
)(_size)
ordered_map_incomplete_size = register_op(
    "OrderedMapIncompleteSize", "-> size: int32", *_ANY, stateful=True, shape=_scalar,
    host_memory=("size",),
    traits="keeps_state",
)(_incomplete_size)  # fmt: skip
ordered_map_clear = register_op(
    "OrderedMapClear", "->", *_ANY, stateful=True, shape=no_outputs, traits="keeps_state"
)(_clear)

_op: OpDefinition
for _op in (
    stage, unstage, stage_peek, stage_size, stage_clear, map_stage, map_peek, map_unstage,
    map_unstage_no_key, map_size, map_incomplete_size, map_clear, ordered_map_stage,
    ordered_map_peek, ordered_map_unstage, ordered_map_unstage_no_key, ordered_map_size,
    ordered_map_incomplete_size, ordered_map_clear,
):  # fmt: skip
    _op.not_differentiable()
