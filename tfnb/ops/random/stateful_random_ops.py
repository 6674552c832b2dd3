"""Random numbers of a generator whose state is a resource variable.

The state is a vector of int64: for Philox, the only algorithm here, the two words of the counter
and the key. Every op reads it, draws, and advances the counter by 256 blocks for each number, so
that the next op draws other numbers. Corresponds to TensorFlow's ``stateful_random_ops.cc``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import Var
from tfnb.core.shape_inference import merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.random import random_distributions as distributions
from tfnb.ops.random import random_rejection
from tfnb.ops.random.philox import BLOCKS_PER_OUTPUT, Philox
from tfnb.ops.random.random_ops import checked_limits, product, shape_of_trials, wanted_shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr, Handle, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext

_CPU: dict[str, Any] = {"devices": ("CPU",), "stateful": True}
_PHILOX, _THREE_FRY, _AUTO_SELECT = 1, 2, 3
_MASK32, _MASK64 = (1 << 32) - 1, (1 << 64) - 1
_STATE_SIZE = 3
_SHAPED = "shape: shape_dtype"
_SHAPE_DTYPE = "shape_dtype: type = DT_INT64"


def _algorithm(number: int) -> None:
    """Refuse algorithms other than Philox."""
    if number in (_PHILOX, _AUTO_SELECT):
        return
    if number == _THREE_FRY:
        raise errors.unimplemented("Non-XLA devices don't support the ThreeFry algorithm.")
    raise errors.invalid_argument(f"Unsupported algorithm id: {number}")


def _scalar(value: Array, name: str) -> int:
    if value.ndim:
        raise errors.invalid_argument(f"{name} must be of shape [], not {shape_text(value.shape)}")
    return int(value)


def _taken(
    ctx: OpKernelContext, resource: Handle, algorithm: int, blocks: int, first: int = 0
) -> tuple[Philox, Array]:
    """Return the current generator and its state, and advance the state by ``blocks``."""
    cell = ctx.resource_manager.lookup(resource, Var)
    with cell.lock:
        state = cell.read()
        if state.dtype != np.int64:
            raise errors.invalid_argument(
                f"dtype of RNG state variable must be int64, not {state.dtype}"
            )
        if state.ndim != 1:
            raise errors.invalid_argument(
                f"RNG state must have one and only one dimension, not {state.ndim}"
            )
        if first:
            if state.size < 1:
                raise errors.invalid_argument("Size of tensor must be at least 1")
            algorithm = int(state[0])
        _algorithm(algorithm)
        if state.size < first + _STATE_SIZE:
            raise errors.invalid_argument(
                "For the Philox algorithm, the size of state must be at least "
                f"{first + _STATE_SIZE}; got {state.size}"
            )
        low, high, key = (int(word) & _MASK64 for word in state[first : first + _STATE_SIZE])
        generator = Philox(key, high << 64 | low)
        if blocks >> 32 == _MASK32 and (low & _MASK32) + (blocks & _MASK32) > _MASK32:
            blocks &= _MASK32  # TensorFlow's carry into the second word overflows and is lost
            low_word = low & ~_MASK32 | (low + blocks & _MASK32)
            after = high << 64 | low_word
        else:
            after = generator.skip(blocks).counter
        new = state.copy()
        new[first : first + 2] = np.array([after & _MASK64, after >> 64], np.uint64).view(np.int64)
        cell.assign(new)
        return generator, state


def _drawn(
    ctx: OpKernelContext,
    resource: Handle,
    algorithm: Attr,
    shape: Array,
    dtype: DType,
    draw: Callable[..., Array],
    *limits: int,
) -> Array:
    sizes = wanted_shape(shape, dtype)
    count = product(sizes)
    number = _scalar(algorithm, "algorithm")
    generator, _ = _taken(ctx, resource, number, count * BLOCKS_PER_OUTPUT)
    return draw(np, generator, count, dtype, *limits).reshape(sizes)


# ------------------------------------------------------------------------------------------- shapes


def _state_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    c.with_rank(1, 0)
    c.with_rank(2, 1)
    return c.constant_value_as_shape(2)


def _first_state_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    return c.constant_value_as_shape(1)


def _limits_shape(c: InferenceContext) -> TensorShape:
    shape = _state_shape(c)
    c.with_rank(3, 0)
    c.with_rank(4, 0)
    return shape


# ------------------------------------------------------------------------------------ the state


@register_op(
    "RngReadAndSkip", "resource: resource, alg: int32, delta: uint64 -> value: int64", **_CPU
)
def rng_read_and_skip(ctx: OpKernelContext, resource: Handle, alg: Array, delta: Array) -> Array:
    """Return the state, and advance the generator as if it had drawn ``delta`` numbers."""
    steps = _scalar(delta, "delta")
    blocks = steps * BLOCKS_PER_OUTPUT & _MASK64
    state = _taken(ctx, resource, _scalar(alg, "algorithm"), blocks)[1]
    return state[:_STATE_SIZE].copy()


@rng_read_and_skip.shape
def _(c: InferenceContext) -> TensorShape:
    for index in range(3):
        c.with_rank(index, 0)
    return TensorShape([_STATE_SIZE])


@register_op("RngSkip", "resource: resource, algorithm: int64, delta: int64 ->", **_CPU)
def rng_skip(ctx: OpKernelContext, resource: Handle, algorithm: Array, delta: Array) -> None:
    """Advance the generator as if it had drawn ``delta`` numbers."""
    steps = _scalar(delta, "delta")
    blocks = steps * BLOCKS_PER_OUTPUT & _MASK64
    _taken(ctx, resource, _scalar(algorithm, "algorithm"), blocks)


@rng_skip.shape
def _(c: InferenceContext) -> list[TensorShape]:
    for index in range(3):
        c.with_rank(index, 0)
    return []


@register_op(
    "NonDeterministicInts",
    f"{_SHAPED} -> output: dtype",
    "dtype: type = DT_INT64",
    _SHAPE_DTYPE,
    shape=lambda c: c.constant_value_as_shape(0),
    **_CPU,
)
def non_deterministic_ints(xp: Xp, shape: Array, *, dtype: DType) -> Array:
    """Return unpredictable integers, from the operating system."""
    if dtype.name not in ("int32", "int64", "uint32", "uint64"):
        raise errors.invalid_argument(f"Unsupported dtype: {dtype.name}")
    sizes = wanted_shape(shape, dtype)
    kind = np.dtype(dtype.as_numpy_dtype)
    return np.frombuffer(os.urandom(product(sizes) * kind.itemsize), kind).reshape(sizes)


# ---------------------------------------------------------------------------------- distributions

_DRAW = f"resource: resource, algorithm: int64, {_SHAPED} -> output: dtype"
_FLOAT = ("dtype: type = DT_FLOAT", _SHAPE_DTYPE)


@register_op("StatefulUniform", _DRAW, *_FLOAT, shape=_state_shape, **_CPU)
def stateful_uniform(
    ctx: OpKernelContext, resource: Handle, algorithm: Array, shape: Array, *, dtype: DType
) -> Array:
    """Return numbers in [0, 1)."""
    return _drawn(ctx, resource, algorithm, shape, dtype, distributions.uniform)


@register_op("StatefulStandardNormalV2", _DRAW, *_FLOAT, shape=_state_shape, **_CPU)
def stateful_standard_normal_v2(
    ctx: OpKernelContext, resource: Handle, algorithm: Array, shape: Array, *, dtype: DType
) -> Array:
    """Return normally distributed numbers."""
    return _drawn(ctx, resource, algorithm, shape, dtype, distributions.normal)


@register_op("StatefulTruncatedNormal", _DRAW, *_FLOAT, shape=_state_shape, **_CPU)
def stateful_truncated_normal(
    ctx: OpKernelContext, resource: Handle, algorithm: Array, shape: Array, *, dtype: DType
) -> Array:
    """Return normally distributed numbers between -2 and 2."""
    return _drawn(ctx, resource, algorithm, shape, dtype, distributions.truncated_normal)


@register_op(
    "StatefulStandardNormal",
    f"resource: resource, {_SHAPED} -> output: dtype",
    *_FLOAT,
    shape=_first_state_shape,
    deprecated=(29, "Use StatefulStandardNormalV2 instead"),
    **_CPU,
)
def stateful_standard_normal(
    ctx: OpKernelContext, resource: Handle, shape: Array, *, dtype: DType
) -> Array:
    """Return normally distributed numbers; the first number of the state is the algorithm."""
    sizes = wanted_shape(shape, dtype)
    count = product(sizes)
    generator, _ = _taken(ctx, resource, _PHILOX, count * BLOCKS_PER_OUTPUT, first=1)
    return distributions.normal(np, generator, count, dtype).reshape(sizes)


@register_op(
    "StatefulUniformInt",
    f"resource: resource, algorithm: int64, {_SHAPED}, minval: dtype, maxval: dtype -> "
    "output: dtype",
    "dtype: type = DT_INT64",
    _SHAPE_DTYPE,
    shape=_limits_shape,
    **_CPU,
)
def stateful_uniform_int(
    ctx: OpKernelContext,
    resource: Handle,
    algorithm: Array,
    shape: Array,
    minval: Array,
    maxval: Array,
    *,
    dtype: DType,
) -> Array:
    """Return integers in [minval, maxval)."""
    limits = checked_limits(minval, maxval)
    draw = distributions.uniform_integers
    return _drawn(ctx, resource, algorithm, shape, dtype, draw, *limits)


@register_op(
    "StatefulUniformFullInt",
    _DRAW,
    "dtype: type = DT_UINT64",
    _SHAPE_DTYPE,
    shape=_state_shape,
    **_CPU,
)
def stateful_uniform_full_int(
    ctx: OpKernelContext, resource: Handle, algorithm: Array, shape: Array, *, dtype: DType
) -> Array:
    """Return integers from the full range of the type."""
    return _drawn(ctx, resource, algorithm, shape, dtype, distributions.full_integers)


def _binomial_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    c.with_rank(1, 0)
    dims = c.with_rank(2, 1).dim_values
    assert dims is not None
    merge_dims(dims[0], None)
    return c.constant_value_as_shape(2)


@register_op(
    "StatefulRandomBinomial",
    "resource: resource, algorithm: int64, shape: S, counts: T, probs: T -> output: dtype",
    "S: {int32, int64}",
    "T: {half, float, double, int32, int64} = DT_DOUBLE",
    "dtype: {half, float, double, int32, int64} = DT_INT64",
    shape=_binomial_shape,
    **_CPU,
)
def stateful_random_binomial(
    ctx: OpKernelContext,
    resource: Handle,
    algorithm: Array,
    shape: Array,
    counts: Array,
    probs: Array,
    *,
    dtype: DType,
) -> Array:
    """Return the number of successes in ``counts`` trials with probability ``probs`` each."""
    sizes = wanted_shape(shape)
    parameters = shape_of_trials(counts, probs)
    if sizes[len(sizes) - len(parameters) :] != parameters or len(sizes) < len(parameters):
        raise errors.invalid_argument("Shape passed in must end with broadcasted shape.")
    samples = product(sizes[: len(sizes) - len(parameters)])
    reserved = product(parameters) * 2 * 100 * (samples + 3) // 4
    number = _scalar(algorithm, "algorithm")
    generator, _ = _taken(ctx, resource, number, reserved * BLOCKS_PER_OUTPUT)
    counts, probs = np.broadcast_to(counts, parameters), np.broadcast_to(probs, parameters)
    found = random_rejection.binomial(generator, counts, probs, samples)
    return found.reshape(sizes).astype(dtype.as_numpy_dtype)


for _op in (
    rng_read_and_skip, rng_skip, non_deterministic_ints, stateful_uniform,
    stateful_standard_normal_v2, stateful_truncated_normal, stateful_standard_normal,
    stateful_uniform_int, stateful_uniform_full_int, stateful_random_binomial,
):  # fmt: skip
    _op.not_differentiable()
