"""Random numbers, which equal TensorFlow's for equal seeds.

A kernel owns a generator for as long as the session lives. Each execution reserves a part of its
sequence: more blocks per output than any distribution needs, so that the next execution's numbers
do not depend on the number of rejections. With both seeds 0 the sequence differs each time.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_countable, check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import InferenceContext, unchanged_shape
from tfnb.core.tensor_shape import TensorShape, dimension_value
from tfnb.framework.constant_value import constant_value_as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.random_seed import get_seed
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.random import compiled_classes, random_rejection
from tfnb.ops.random import random_distributions as distributions
from tfnb.ops.random.philox import generator_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.math import math_ops, special_math_ops
    from tfnb.ops.random.philox import BlockSource
else:
    math_ops = later("tfnb.ops.math.math_ops")

    special_math_ops = later("tfnb.ops.math.special_math_ops")

EXPORTS = {
    "tf": [
        "multinomial", "random_gamma", "random_normal", "random_poisson",
        "random_shuffle", "random_uniform", "truncated_normal",
    ],
    "random": [
        "categorical", "gamma:random_gamma", "multinomial", "normal:random_normal",
        "poisson:random_poisson", "shuffle:random_shuffle", "truncated_normal",
        "uniform:random_uniform",
    ],
}  # fmt: skip

# --------------------------------------------------------------------------------- shared functions


def random_shape(c: InferenceContext) -> TensorShape:
    """Return the shape that the first input holds."""
    c.with_rank(0, 1)
    return c.constant_value_as_shape(0)


def uniform_int_shape(c: InferenceContext, first: int = 1) -> TensorShape:
    """Return the shape in the first input; the limits, from input ``first`` on, are scalars."""
    for index, name in ((first, "minval"), (first + 1, "maxval")):
        dims = c.inputs[index].dim_values
        if dims:
            raise ValueError(f"{name} must be a scalar; got a tensor of shape {list(dims)}")
    return random_shape(c)


def sample_shape(c: InferenceContext) -> TensorShape:
    """Return the shape in the first input, followed by the shape of the parameters."""
    return random_shape(c).concatenate(c.inputs[1])


def multinomial_shape(c: InferenceContext) -> TensorShape:
    """Return the shape of samples: one row per row of logits."""
    rows = c.with_rank(0, 2).dim_values
    c.with_rank(1, 0)
    samples = c.constant_value(1)
    return TensorShape([rows[0] if rows else None, None if samples is None else int(samples)])


def wanted_shape(shape: Array, dtype: DType | None = None, xp: Xp = np) -> tuple[int, ...]:
    """Return the shape that a kernel's input requests.

    With `dtype` its tensor must fit in memory.

    Raises:
      InvalidArgumentError: it is not a vector, a dimension is negative, or it is too large.
    """
    if shape.ndim != 1:
        raise errors.invalid_argument(
            f"shape must be a vector of {{int32,int64}}, got shape {shape_text(shape.shape)}"
        )
    sizes = tuple(shape.tolist())
    for size in sizes:
        if size < 0:
            raise errors.invalid_argument(f"Dimension {size} must be >= 0")
    if dtype is None:
        check_countable(sizes, is_given=True)
    else:
        check_fits(xp, sizes, dtype.numpy_dtype, is_given=True)
    return sizes


def product(sizes: tuple[int, ...]) -> int:
    """Return the number of elements of a shape."""
    count = 1
    for size in sizes:
        count *= size
    return count


def checked_limits(minval: Array, maxval: Array, *, is_empty: bool = False) -> tuple[int, int]:
    """Return the limits of uniform integers.

    Raises:
      InvalidArgumentError: a limit is not a scalar, or the range is empty.
    """
    for name, limit in (("minval", minval), ("maxval", maxval)):
        if limit.ndim:
            raise errors.invalid_argument(
                f"{name} must be 0-D, got shape {shape_text(limit.shape)}"
            )
    low, high = int(minval), int(maxval)
    if low >= high and not is_empty:
        raise errors.invalid_argument(f"Need minval < maxval, got {low} >= {high}")
    return low, high


def _draw(
    ctx: OpKernelContext,
    shape: Array,
    seeds: tuple[int, int],
    dtype: DType,
    draw: Callable[..., Array],
    *limits: int,
) -> Array:
    """Return numbers of a distribution that uses each block once."""
    sizes, xp = wanted_shape(shape, dtype, ctx.xp), ctx.xp

    def numbers(source: BlockSource, count: int) -> Array:
        return draw(xp, source, count, dtype, *limits)

    generator, per_block = generator_of(ctx, *seeds), distributions.per_block(dtype)
    return generator.draw(product(sizes), per_block, (draw, dtype, limits), numbers).reshape(sizes)


# --------------------------------------------------------------------------------------------- ops


@register_op(
    "RandomUniform",
    "shape: T -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
    stateful=True,
    shape=random_shape,
    host_memory=("shape",),
    traits="c_order draws unseen_state",
)
def random_uniform_op(
    ctx: OpKernelContext, shape: Array, *, seed: int, seed2: int, dtype: DType
) -> Array:
    """Return numbers in [0, 1)."""
    return _draw(ctx, shape, (seed, seed2), dtype, distributions.uniform)


random_uniform_op.not_differentiable()


@register_op(
    "RandomUniformInt",
    "shape: T, minval: Tout, maxval: Tout -> output: Tout",
    "seed: int = 0",
    "seed2: int = 0",
    "Tout: {int32, int64}",
    "T: {int32, int64}",
    stateful=True,
    shape=uniform_int_shape,
    host_memory=("shape", "minval", "maxval"),
    traits="c_order draws unseen_state",
)
def random_uniform_int(
    ctx: OpKernelContext,
    shape: Array,
    minval: Array,
    maxval: Array,
    *,
    seed: int,
    seed2: int,
    Tout: DType,
) -> Array:
    """Return integers in [minval, maxval)."""
    is_empty = not product(wanted_shape(shape))
    limits = checked_limits(minval, maxval, is_empty=is_empty)
    draw = distributions.uniform_integers
    return _draw(ctx, shape, (seed, seed2), Tout, draw, *limits)


random_uniform_int.not_differentiable()


@register_op(
    "RandomStandardNormal",
    "shape: T -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
    stateful=True,
    shape=random_shape,
    host_memory=("shape",),
    traits="c_order draws unseen_state",
)
def random_standard_normal(
    ctx: OpKernelContext, shape: Array, *, seed: int, seed2: int, dtype: DType
) -> Array:
    """Return normal numbers with mean 0 and standard deviation 1."""
    return _draw(ctx, shape, (seed, seed2), dtype, distributions.normal)


random_standard_normal.not_differentiable()


@register_op(
    "TruncatedNormal",
    "shape: T -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
    stateful=True,
    shape=random_shape,
    host_memory=("shape",),
    traits="c_order draws unseen_state",
)
def truncated_normal_op(
    ctx: OpKernelContext, shape: Array, *, seed: int, seed2: int, dtype: DType
) -> Array:
    """Return normal numbers; those beyond two standard deviations are redrawn."""
    sizes = wanted_shape(shape, dtype, ctx.xp)
    count = product(sizes)
    generator = generator_of(ctx, seed, seed2).reserve_outputs(count)
    return distributions.truncated_normal(ctx.xp, generator, count, dtype).reshape(sizes)


truncated_normal_op.not_differentiable()


def _bounded_shape(c: InferenceContext) -> TensorShape:
    for index in range(1, 5):
        c.with_rank_at_most(index, 1)
    return random_shape(c)


@register_op(
    "ParameterizedTruncatedNormal",
    "shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
    stateful=True,
    shape=_bounded_shape,
    devices=("CPU",),
    traits="draws unseen_state",
)
def parameterized_truncated_normal_op(
    ctx: OpKernelContext,
    shape: Array,
    means: Array,
    stdevs: Array,
    minvals: Array,
    maxvals: Array,
    *,
    seed: int,
    seed2: int,
    dtype: DType,
) -> Array:
    """Return normal numbers between bounds; the first dimension is that of the parameters."""
    if shape.ndim != 1:
        raise errors.invalid_argument(
            f"Input shape should be a vector, got shape: {shape_text(shape.shape)}"
        )
    sizes = wanted_shape(shape)
    if not sizes:
        raise errors.invalid_argument("Shape tensor must not be empty, got an empty shape")
    parameters = {"means": means, "stddevs": stdevs, "minvals": minvals, "maxvals": maxvals}
    for name, value in parameters.items():
        if value.ndim > 1:
            raise errors.invalid_argument(
                f"Input {name} should be a scalar or vector, got shape: {shape_text(value.shape)}"
            )
    count = product(sizes)
    if means.size == 1 and stdevs.size == 1 and not minvals.ndim and not maxvals.ndim:
        per_batch = 100
        batches = -(-count // per_batch)
    else:
        batches, per_batch = sizes[0], product(sizes[1:])
        for name, value in parameters.items():
            if value.size not in (1, batches) and value.ndim:
                raise errors.invalid_argument(
                    f"Input {name} should have length 1 or shape[0], got shape: "
                    f"{shape_text(value.shape)}"
                )
    blocks = batches * 2 * random_rejection.MAX_ITERATIONS * (per_batch + 3) // 4
    sampler = random_rejection.BoundedNormals(
        generator_of(ctx, seed, seed2).reserve_blocks(blocks), dtype
    )
    found = np.empty(count, dtype.as_numpy_dtype)
    rows = [np.broadcast_to(value.reshape(-1), (batches,)) for value in parameters.values()]
    for batch, row in enumerate(zip(*rows, strict=True)):
        part = found[batch * per_batch : (batch + 1) * per_batch]
        part[...] = sampler.batch(len(part), *row)
    return found.reshape(sizes)


parameterized_truncated_normal_op.not_differentiable()


def shuffled(value: Array, numbers: Array) -> Array:
    """Shuffle rows: exchange each, from the first on, with itself or a later one."""
    order = list(range(len(value)))
    for index, number in enumerate(numbers):
        other = index + number % (len(order) - index)
        order[index], order[other] = order[other], order[index]
    return value[np.array(order)]


@register_op(
    "RandomShuffle",
    "value: T -> output: T",
    "seed: int = 0",
    "seed2: int = 0",
    "T: type",
    stateful=True,
    shape=unchanged_shape,
    devices=("CPU",),
    traits="draws unseen_state",
)
def random_shuffle_op(ctx: OpKernelContext, value: Array, *, seed: int, seed2: int) -> Array:
    """Return the rows of a tensor in random order."""
    if value.size <= 1 or value.shape[0] <= 1:
        return value
    blocks = -(-(value.shape[0] - 1) // 4)
    generator = generator_of(ctx, seed, seed2).reserve_blocks(blocks)
    numbers = generator.blocks(np, blocks).reshape(-1)[: value.shape[0] - 1]
    return shuffled(value, numbers.tolist())


random_shuffle_op.not_differentiable()


def checked_multinomial(logits: Array, num_samples: Array) -> int:
    """Return the number of samples requested for each row.

    Raises:
      InvalidArgumentError: the logits are not a matrix, have no column, or the number is invalid.
    """
    if logits.ndim != 2:
        raise errors.invalid_argument(
            f"logits should be a matrix, got shape {shape_text(logits.shape)}"
        )
    if num_samples.ndim:
        raise errors.invalid_argument(
            f"num_samples should be a scalar, got shape {shape_text(num_samples.shape)}"
        )
    samples = int(num_samples)
    if samples < 0:
        raise errors.invalid_argument(f"num_samples should be non-negative, got {samples}")
    if logits.shape[1] == 0:
        raise errors.invalid_argument("num_classes should be positive, got 0")
    return samples


def classes(generator: Array, logits: Array, samples: int, dtype: DType) -> Array:
    """Return classes, drawn with probabilities proportional to the exponentials of the logits."""
    rows, count = logits.shape
    numbers = distributions.uniform(np, generator, rows * samples, dtypes.float64)
    drawn = compiled_classes.classes(logits, numbers, samples)
    if drawn is not None:
        return drawn.astype(dtype.as_numpy_dtype, copy=False)
    found = np.empty((rows, samples), dtype.as_numpy_dtype)
    for row, chances in enumerate(logits.astype(np.float64)):
        highest = chances.max()
        if math.isfinite(highest):
            chances -= highest
            sums = np.exp(chances, out=chances).cumsum()
        else:
            possible = np.isfinite(chances)
            highest = chances[possible].max(initial=-np.inf)
            sums = np.cumsum(np.where(possible, np.exp(chances - highest), 0.0))
        wanted = numbers[row * samples : (row + 1) * samples] * sums[count - 1]
        found[row] = sums.searchsorted(wanted, "right")
    return found


@register_op(
    "Multinomial",
    "logits: T, num_samples: int32 -> output: output_dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "T: realnumbertype",
    "output_dtype: {int32, int64} = DT_INT64",
    stateful=True,
    shape=multinomial_shape,
    devices=("CPU",),
    traits="draws unseen_state",
)
def multinomial_op(
    ctx: OpKernelContext,
    logits: Array,
    num_samples: Array,
    *,
    seed: int,
    seed2: int,
    output_dtype: DType,
) -> Array:
    """Return classes drawn from the distribution of each row."""
    samples = checked_multinomial(logits, num_samples)
    if not len(logits) * samples:
        return np.empty((len(logits), samples), output_dtype.as_numpy_dtype)
    # Doubles use two numbers each; each row is rounded up to whole blocks.
    outputs = len(logits) * 2 * (-(-samples // 4) * 4)
    generator = generator_of(ctx, seed, seed2).reserve_outputs(outputs)
    return classes(generator, logits, samples, output_dtype)


multinomial_op.not_differentiable()


@register_op(
    "RandomGamma",
    "shape: S, alpha: T -> output: T",
    "seed: int = 0",
    "seed2: int = 0",
    "S: {int32, int64}",
    "T: {half, float, double}",
    stateful=True,
    shape=sample_shape,
    devices=("CPU",),
    traits="unseen_state",
)
def random_gamma_op(
    ctx: OpKernelContext, shape: Array, alpha: Array, *, seed: int, seed2: int
) -> Array:
    """Return samples of gamma(alpha, 1)."""
    if shape.ndim != 1:
        raise errors.invalid_argument(
            "shape must be a vector of {int32,int64}, got shape: " + shape_text(shape.shape)
        )
    sizes = wanted_shape(shape)
    count = product(sizes)
    check_fits(np, sizes + alpha.shape, alpha.dtype)
    if not count * alpha.size:
        return np.empty(sizes + alpha.shape, alpha.dtype)
    generator = generator_of(ctx, seed, seed2).reserve_outputs(count * alpha.size)
    found = random_rejection.gamma(generator, alpha, count)
    return found.reshape(sizes + alpha.shape).astype(alpha.dtype)


@random_gamma_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    shape, alpha = op.inputs
    with control_dependencies([grad]):
        # The sample's own dimensions come before those of alpha.
        rank = array_ops.shape(shape)[0]
        ones = array_ops.ones([rank], dtypes.int32)
        alpha = array_ops.reshape(alpha, array_ops.concat([ones, array_ops.shape(alpha)], 0))
        partial = special_math_ops.random_gamma_grad(alpha, op.outputs[0])
        return None, math_ops.reduce_sum(grad * partial, axis=math_ops.range(rank))


@register_op(
    "RandomPoisson",
    "shape: S, rate: dtype -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "S: {int32, int64}",
    "dtype: {half, float, double}",
    stateful=True,
    shape=sample_shape,
    devices=("CPU",),
    deprecated=(25, "Replaced by RandomPoissonV2"),
    traits="unseen_state",
)
def random_poisson_op(
    ctx: OpKernelContext, shape: Array, rate: Array, *, seed: int, seed2: int, dtype: DType
) -> Array:
    """Return samples of poisson(rate), in the type of the rate."""
    return _poisson(ctx, shape, rate, (seed, seed2), dtype)


random_poisson_op.not_differentiable()


@register_op(
    "RandomPoissonV2",
    "shape: S, rate: R -> output: dtype",
    "seed: int = 0",
    "seed2: int = 0",
    "S: {int32, int64}",
    "R: {half, float, double, int32, int64} = DT_DOUBLE",
    "dtype: {half, float, double, int32, int64} = DT_INT64",
    stateful=True,
    shape=sample_shape,
    devices=("CPU",),
    traits="unseen_state",
)
def random_poisson_v2(
    ctx: OpKernelContext, shape: Array, rate: Array, *, seed: int, seed2: int, dtype: DType
) -> Array:
    """Return samples of poisson(rate)."""
    return _poisson(ctx, shape, rate, (seed, seed2), dtype)


def _poisson(
    ctx: OpKernelContext, shape: Array, rate: Array, seeds: tuple[int, int], dtype: DType
) -> Array:
    sizes = wanted_shape(shape)
    count = product(sizes)
    check_fits(np, sizes + rate.shape, np.dtype(dtype.as_numpy_dtype))
    if not count * rate.size:
        return np.empty(sizes + rate.shape, dtype.as_numpy_dtype)
    generator = generator_of(ctx, *seeds).reserve_outputs(count * rate.size)
    found = random_rejection.poisson(generator, rate, count)
    return found.reshape(sizes + rate.shape).astype(dtype.as_numpy_dtype)


# --------------------------------------------------------------------------------- public functions


def shape_tensor(shape: TensorLike) -> Tensor:
    """Return a user's shape as a tensor named ``shape``."""
    dtype = None
    if isinstance(shape, (tuple, list)):
        if not shape:
            dtype = dtypes.int32
        shape = tuple(dimension_value(size) for size in shape)
    return convert_to_tensor(shape, dtype=dtype, name="shape")


def set_static_shape(tensor: Tensor, shape: TensorLike) -> None:
    """Set a tensor's static shape inside a function, where no shapes are inferred."""
    if get_default_graph().building_function and not tensor.shape.is_fully_defined():
        tensor.set_shape(constant_value_as_shape(shape_tensor(shape)))


def shape_of_trials(counts: Array, probs: Array) -> tuple[int, ...]:
    """Return the broadcast shape of a binomial distribution's parameters.

    Raises:
      InvalidArgumentError: the shapes of counts and probs do not match.
    """
    try:
        return np.broadcast_shapes(counts.shape, probs.shape)
    except ValueError:
        raise errors.invalid_argument(
            "counts and probs must have compatible batch dimensions: "
            f"{shape_text(counts.shape)} vs. {shape_text(probs.shape)}"
        ) from None


def spread(
    draw: Callable[[Any, Any], Any],
    shape: TensorLike,
    mean: TensorLike,
    stddev: TensorLike,
    dtype: DTypeLike,
    scope: str,
) -> Any:
    """Return random numbers around a mean.

    Args:
      draw: returns numbers with mean 0 and deviation 1 for a shape and dtype.
      shape: shape of the result.
      mean: the mean, which is added.
      stddev: the factor of the numbers, before the mean is added.
      dtype: dtype of the result.
      scope: the name of the result.
    """
    wanted = shape_tensor(shape)
    mean = convert_to_tensor(mean, dtype=dtype, name="mean")
    stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
    value = math_ops.add(draw(wanted, dtype) * stddev, mean, name=scope)
    set_static_shape(value, shape)
    return value


def _seeded(
    op: Callable[..., TensorResult], seed: int | None, shape: TensorLike, dtype: DTypeLike
) -> Any:
    seed1, seed2 = get_seed(seed)
    return op(shape, dtype, seed=seed1, seed2=seed2)


def random_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return numbers from a normal distribution."""
    with name_scope(name, "random_normal", [shape, mean, stddev]) as scope:
        draw = partial(_seeded, random_standard_normal, seed)
        return spread(draw, shape, mean, stddev, dtype, scope)


def truncated_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return normal numbers, at most two deviations from the mean."""
    with name_scope(name, "truncated_normal", [shape, mean, stddev]) as scope:
        draw = partial(_seeded, truncated_normal_op, seed)
        return spread(draw, shape, mean, stddev, dtype, scope)


def parameterized_truncated_normal(
    shape: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return normal numbers within given bounds."""
    given = [shape, means, stddevs, minvals, maxvals]
    with name_scope(name, "parameterized_truncated_normal", given):
        wanted = shape_tensor(shape)
        means = convert_to_tensor(means, dtype=dtype, name="means")
        stddevs = convert_to_tensor(stddevs, dtype=dtype, name="stddevs")
        minvals = convert_to_tensor(minvals, dtype=dtype, name="minvals")
        maxvals = convert_to_tensor(maxvals, dtype=dtype, name="maxvals")
        seed1, seed2 = get_seed(seed)
        value = parameterized_truncated_normal_op(
            wanted, means, stddevs, minvals, maxvals, seed=seed1, seed2=seed2
        )
        set_static_shape(value, shape)
        return value


_UNIFORM_DTYPES = (
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.int64,
)


def random_uniform(
    shape: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return uniformly distributed numbers from [minval, maxval).

    Raises:
      ValueError: the dtype is not supported, or integers are requested without ``maxval``.
    """
    dtype = dtypes.as_dtype(dtype)
    if dtype not in _UNIFORM_DTYPES:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are {_UNIFORM_DTYPES}."
        )
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        wanted = shape_tensor(shape)
        from_zero = isinstance(minval, int) and minval == 0
        to_one = isinstance(maxval, int) and maxval == 1
        if dtype.is_integer or not from_zero or not to_one:
            minval = convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        seed1, seed2 = get_seed(seed)
        if dtype.is_integer:
            value = random_uniform_int(wanted, minval, maxval, seed=seed1, seed2=seed2, name=scope)
        else:
            value = random_uniform_op(wanted, dtype, seed=seed1, seed2=seed2)
            if not from_zero:
                value = math_ops.add(value * (maxval - minval), minval, name=scope)
            elif not to_one:
                value = math_ops.multiply(value, maxval)
        set_static_shape(value, shape)
        return value


def random_shuffle(
    value: TensorLike, seed: int | None = None, name: str | None = None
) -> TensorResult:
    """Return the rows of a tensor in random order."""
    seed1, seed2 = get_seed(seed)
    return random_shuffle_op(value, seed=seed1, seed2=seed2, name=name)


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> TensorResult:
    """Return classes drawn from the distribution of each row of logits."""
    with name_scope(name, "multinomial", [logits]):
        return _categorical(logits, num_samples, output_dtype, seed)


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return classes drawn from the distribution of each row of logits."""
    with name_scope(name, "categorical", [logits]):
        return _categorical(logits, num_samples, dtype, seed)


def class_dtype(dtype: DTypeLike | None) -> DType:
    """Return the dtype for class numbers.

    Raises:
      ValueError: the dtype is neither int32 nor int64.
    """
    found: DType = dtypes.as_dtype(dtype) if dtype else dtypes.int64
    accepted = (dtypes.int32, dtypes.int64)
    if found not in accepted:
        raise ValueError(
            f"Argument `dtype` got invalid value {found}. Accepted dtypes are {accepted}."
        )
    return found


def _categorical(
    logits: TensorLike, num_samples: TensorLike, dtype: DTypeLike | None, seed: int | None
) -> TensorResult:
    logits = convert_to_tensor(logits, name="logits")
    dtype = class_dtype(dtype)
    seed1, seed2 = get_seed(seed)
    return multinomial_op(logits, num_samples, seed=seed1, seed2=seed2, output_dtype=dtype)


def random_gamma(
    shape: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return numbers from gamma distributions with shapes ``alpha`` and inverse scales ``beta``."""
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        wanted = convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        alpha, beta = gamma_parameters(alpha, beta, dtype)
        seed1, seed2 = get_seed(seed)
        numbers = random_gamma_op(wanted, alpha, seed=seed1, seed2=seed2)
        tiny = np.finfo(alpha.dtype.as_numpy_dtype).tiny
        return math_ops.maximum(tiny, numbers / beta)


def gamma_parameters(
    alpha: TensorLike, beta: TensorLike, dtype: DTypeLike
) -> tuple[TensorResult, TensorResult]:
    """Return alpha, broadcast against beta, and beta."""
    alpha = convert_to_tensor(alpha, name="alpha", dtype=dtype)
    beta = convert_to_tensor(1 if beta is None else beta, name="beta", dtype=dtype)
    shape = array_ops.broadcast_dynamic_shape(array_ops.shape(alpha), array_ops.shape(beta))
    return array_ops.broadcast_to(alpha, shape), beta


def random_poisson(
    lam: TensorLike,
    shape: TensorLike,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return numbers from Poisson distributions with means ``lam``."""
    with name_scope(name, "random_poisson", [lam, shape]):
        wanted = convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        seed1, seed2 = get_seed(seed)
        return random_poisson_v2(wanted, lam, seed=seed1, seed2=seed2, dtype=dtype)
