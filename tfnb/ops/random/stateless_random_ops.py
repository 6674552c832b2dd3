"""Random numbers that depend only on a seed tensor, bit for bit equal to TensorFlow's.

The older ops take the two seed numbers themselves. The newer ones (V2, V3) take a key and a counter
derived from them, and the algorithm; only Philox is implemented here. ``tf.random.*`` builds the
newer ones.
"""

from __future__ import annotations

import enum
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    InferenceContext,
    broadcast_shapes,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math import math_ops
from tfnb.ops.math.special_math_ops import random_gamma_grad
from tfnb.ops.random import random_distributions as distributions
from tfnb.ops.random import random_rejection
from tfnb.ops.random.philox import Philox, generator_of_seed
from tfnb.ops.random.random_ops import (
    checked_limits,
    checked_multinomial,
    class_dtype,
    classes,
    gamma_parameters,
    multinomial_shape,
    product,
    random_shape,
    set_static_shape,
    shape_of_trials,
    shape_tensor,
    shuffled,
    spread,
    uniform_int_shape,
    wanted_shape,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "random": [
        "Algorithm", "fold_in", "split", "stateless_binomial", "stateless_categorical",
        "stateless_gamma", "stateless_multinomial", "stateless_normal",
        "stateless_parameterized_truncated_normal", "stateless_poisson",
        "stateless_truncated_normal", "stateless_uniform",
    ],
    "random.experimental": [
        "Algorithm", "stateless_fold_in:fold_in", "stateless_shuffle", "stateless_split:split",
    ],
}  # fmt: skip

# Accepted values of the `alg` input.
_PHILOX, _AUTO_SELECT = 1, 3
_KEY_SIZE, _COUNTER_SIZE = 1, 2

# ------------------------------------------------------------------------------------------- shapes


def _check_seed_shape(c: InferenceContext, index: int) -> None:
    dims = c.with_rank(index, 1).dim_values
    if dims and dims[0] not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {dims[0]}")


def _seeded_shape(c: InferenceContext) -> TensorShape:
    _check_seed_shape(c, 1)
    return random_shape(c)


def _seeded_int_shape(c: InferenceContext) -> TensorShape:
    _check_seed_shape(c, 1)
    return uniform_int_shape(c, first=2)


def _keyed_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank(1, 1).dim_values
    if dims and dims[0] not in (None, _KEY_SIZE):
        raise ValueError(f"Dimension must be {_KEY_SIZE} but is {dims[0]}")
    c.with_rank(2, 1)
    c.with_rank(3, 0)
    return random_shape(c)


def _keyed_int_shape(c: InferenceContext) -> TensorShape:
    _keyed_shape(c)
    return uniform_int_shape(c, first=4)


def _seeded_multinomial_shape(c: InferenceContext) -> TensorShape:
    _check_seed_shape(c, 2)
    return multinomial_shape(c)


def _key_counter_shapes(c: InferenceContext) -> list[TensorShape]:
    _check_seed_shape(c, 0)
    shapes = [TensorShape([_KEY_SIZE]), TensorShape([_COUNTER_SIZE]), SCALAR_SHAPE]
    return shapes[: c.num_outputs]


# --------------------------------------------------------------------------------------- generators


def _from_seed(seed: Array) -> Philox:
    if seed.shape != (2,):
        raise errors.invalid_argument(f"seed must have shape [2], not {shape_text(seed.shape)}")
    return generator_of_seed(seed)


def _from_key(key: Array, counter: Array, alg: Array, shape: Array = ()) -> Philox:
    if alg.ndim:
        raise errors.invalid_argument(f"algorithm must be of shape [], not {shape_text(alg.shape)}")
    # An empty shape skips the check of the algorithm.
    if int(alg) not in (_PHILOX, _AUTO_SELECT) and not (np.asarray(shape) == 0).any():
        raise errors.invalid_argument(f"Unsupported algorithm id: {int(alg)}")
    if key.shape != (_KEY_SIZE,):
        raise errors.invalid_argument(
            f"key must have shape [{_KEY_SIZE}], not {shape_text(key.shape)}. (Note that batched "
            "keys are not supported yet.)"
        )
    # The algorithm's number is also the minimum length of the counter.
    least = 1 if int(alg) == _AUTO_SELECT else max(1, int(alg))
    if counter.ndim != 1 or len(counter) < least:
        raise errors.invalid_argument(
            f"counter must be a vector with length at least {least}; got shape: "
            f"{shape_text(counter.shape)}. (Note that batched counters are not supported yet.)"
        )
    words = [*counter.tolist(), 0]
    return Philox(int(key[0]), words[1] << 64 | words[0])


def _fill(
    xp: Xp,
    shape: Array,
    generator: Philox,
    dtype: DType,
    draw: Callable[..., Array],
    *limits: int,
) -> Array:
    sizes = wanted_shape(shape, dtype, xp)
    return draw(xp, generator, product(sizes), dtype, *limits).reshape(sizes)


def _samples(
    shape: Array, parameters: tuple[int, ...], dtype: DType | None = None
) -> tuple[tuple[int, ...], int]:
    """Return the requested shape, and the number of samples for each parameter.

    With `dtype` the size is checked, and an empty shape skips the check of the parameters.

    Raises:
      InvalidArgumentError: the shape does not end with the parameters' shape.
    """
    sizes = wanted_shape(shape, dtype)
    if dtype is not None and 0 in sizes:
        return sizes, 0
    if len(sizes) < len(parameters) or sizes[len(sizes) - len(parameters) :] != parameters:
        raise errors.invalid_argument("Shape passed in must end with broadcasted shape.")
    return sizes, product(sizes[: len(sizes) - len(parameters)])


# ------------------------------------------------------------------------------------ ops of a seed


@register_op(
    "StatelessRandomUniform",
    "shape: T, seed: Tseed -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64} = DT_INT64",
    shape=_seeded_shape,
    host_memory=("shape", "seed"),
)
def stateless_random_uniform(xp: Xp, shape: Array, seed: Array, *, dtype: DType) -> Array:
    """Return uniform numbers in [0, 1)."""
    return _fill(xp, shape, _from_seed(seed), dtype, distributions.uniform)


stateless_random_uniform.not_differentiable()


@register_op(
    "StatelessRandomNormal",
    "shape: T, seed: Tseed -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64} = DT_INT64",
    shape=_seeded_shape,
    host_memory=("shape", "seed"),
)
def stateless_random_normal(xp: Xp, shape: Array, seed: Array, *, dtype: DType) -> Array:
    """Return normal numbers with mean 0 and standard deviation 1."""
    return _fill(xp, shape, _from_seed(seed), dtype, distributions.normal)


stateless_random_normal.not_differentiable()


@register_op(
    "StatelessTruncatedNormal",
    "shape: T, seed: Tseed -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64} = DT_INT64",
    shape=_seeded_shape,
    host_memory=("shape", "seed"),
)
def stateless_truncated_normal_op(xp: Xp, shape: Array, seed: Array, *, dtype: DType) -> Array:
    """Return normal numbers; those beyond two standard deviations are drawn again."""
    return _fill(xp, shape, _from_seed(seed), dtype, distributions.truncated_normal)


stateless_truncated_normal_op.not_differentiable()


@register_op(
    "StatelessRandomUniformInt",
    "shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype",
    "dtype: {int32, int64}",
    "T: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
    shape=_seeded_int_shape,
    host_memory=("shape", "seed", "minval", "maxval"),
)
def stateless_random_uniform_int(
    xp: Xp, shape: Array, seed: Array, minval: Array, maxval: Array, *, dtype: DType
) -> Array:
    """Return integers in [minval, maxval)."""
    is_empty = not product(wanted_shape(shape))
    generator = _from_seed(seed)
    limits = checked_limits(minval, maxval, is_empty=is_empty)
    return _fill(xp, shape, generator, dtype, distributions.uniform_integers, *limits)


stateless_random_uniform_int.not_differentiable()


@register_op(
    "StatelessRandomUniformFullInt",
    "shape: T, seed: Tseed -> output: dtype",
    "dtype: {int32, int64, uint32, uint64} = DT_UINT64",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64, uint32, uint64} = DT_INT64",
    shape=_seeded_shape,
    host_memory=("shape", "seed"),
)
def stateless_random_uniform_full_int(xp: Xp, shape: Array, seed: Array, *, dtype: DType) -> Array:
    """Return integers from the whole range of the type."""
    return _fill(xp, shape, _from_seed(seed), dtype, distributions.full_integers)


stateless_random_uniform_full_int.not_differentiable()


@register_op(
    "StatelessMultinomial",
    "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype",
    "T: realnumbertype",
    "Tseed: {int32, int64} = DT_INT64",
    "output_dtype: {int32, int64} = DT_INT64",
    shape=_seeded_multinomial_shape,
    devices=("CPU",),
)
def stateless_multinomial_op(
    xp: Xp, logits: Array, num_samples: Array, seed: Array, *, output_dtype: DType
) -> Array:
    """Return classes drawn from the distribution of each row."""
    generator = _from_seed(seed)
    samples = checked_multinomial(logits, num_samples)
    return classes(generator, logits, samples, output_dtype)


stateless_multinomial_op.not_differentiable()


@register_op(
    "StatelessRandomBinomial",
    "shape: S, seed: Tseed, counts: T, probs: T -> output: dtype",
    "S: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
    "T: {half, float, double, int32, int64} = DT_DOUBLE",
    "dtype: {half, float, double, int32, int64} = DT_INT64",
    shape=_seeded_shape,
    devices=("CPU",),
)
def stateless_random_binomial(
    xp: Xp, shape: Array, seed: Array, counts: Array, probs: Array, *, dtype: DType
) -> Array:
    """Return the number of successes in ``counts`` trials of probability ``probs``."""
    generator = _from_seed(seed)
    parameters = shape_of_trials(counts, probs)
    sizes, samples = _samples(shape, parameters)
    counts, probs = np.broadcast_to(counts, parameters), np.broadcast_to(probs, parameters)
    found = random_rejection.binomial(generator, counts, probs, samples)
    return found.reshape(sizes).astype(dtype.as_numpy_dtype)


stateless_random_binomial.not_differentiable()


def _seeded_bounded_shape(c: InferenceContext) -> TensorShape:
    _check_seed_shape(c, 1)
    reduce(broadcast_shapes, c.inputs[2:])
    return random_shape(c)


@register_op(
    "StatelessParameterizedTruncatedNormal",
    "shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype"
    " -> output: dtype",
    "S: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
    "dtype: {half, float, double}",
    shape=_seeded_bounded_shape,
    devices=("CPU",),
)
def stateless_parameterized_truncated_normal_op(
    xp: Xp,
    shape: Array,
    seed: Array,
    means: Array,
    stddevs: Array,
    minvals: Array,
    maxvals: Array,
    *,
    dtype: DType,
) -> Array:
    """Return bounded normal numbers; the shape ends with the parameters' broadcast shape."""
    generator = _from_seed(seed)
    given = (means, stddevs, minvals, maxvals)
    try:
        parameters = np.broadcast_shapes(*(value.shape for value in given))
    except ValueError:
        raise errors.invalid_argument(
            "means, stddevs, minvals, maxvals must have compatible batch dimensions: "
            + " vs. ".join(shape_text(value.shape) for value in given)
        ) from None
    sizes, samples = _samples(shape, parameters)
    rows = [np.broadcast_to(value, parameters).reshape(-1) for value in given]
    columns = random_rejection.bounded_normals(generator, rows, samples, dtype)
    return columns.reshape(sizes)


@stateless_parameterized_truncated_normal_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.random.bounded_normal_gradient import bounded_normal_gradient

    return bounded_normal_gradient(op, grad)


@register_op(
    "StatelessRandomPoisson",
    "shape: T, seed: Tseed, lam: Rtype -> output: dtype",
    "Rtype: {half, float, double, int32, int64}",
    "dtype: {half, float, double, int32, int64}",
    "T: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
    shape=_seeded_shape,
    devices=("CPU",),
)
def stateless_random_poisson(
    xp: Xp, shape: Array, seed: Array, lam: Array, *, dtype: DType
) -> Array:
    """Return samples of Poisson(lam)."""
    generator = _from_seed(seed)
    sizes, samples = _samples(shape, lam.shape, dtype)
    found = random_rejection.poisson(generator, lam, samples)
    return found.reshape(sizes).astype(dtype.as_numpy_dtype)


stateless_random_poisson.not_differentiable()


@register_op(
    "StatelessRandomGammaV2",
    "shape: T, seed: Tseed, alpha: dtype -> output: dtype",
    "dtype: {half, float, double}",
    "T: {int32, int64}",
    "Tseed: {int32, int64} = DT_INT64",
    shape=_seeded_shape,
    devices=("CPU",),
)
def stateless_random_gamma_v2(xp: Xp, shape: Array, seed: Array, alpha: Array) -> Array:
    """Return samples of Gamma(alpha, 1)."""
    return _gamma(shape, _from_seed(seed), alpha)


@stateless_random_gamma_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return None, None, _gamma_gradient(op.inputs[0], op.inputs[2], op.outputs[0], grad)


def _gamma(shape: Array, generator: Philox, alpha: Array) -> Array:
    sizes, samples = _samples(shape, alpha.shape, dtypes.as_dtype(alpha.dtype))
    return random_rejection.gamma(generator, alpha, samples).reshape(sizes).astype(alpha.dtype)


def _gamma_gradient(
    shape: TensorLike, alpha: TensorLike, sample: TensorLike, grad: TensorLike
) -> Any:
    with control_dependencies([grad]):
        extra = array_ops.shape(shape)[0] - array_ops.rank(alpha)
        ones = array_ops.ones([extra], dtypes.int32)
        wide = array_ops.reshape(alpha, array_ops.concat([ones, array_ops.shape(alpha)], 0))
        partial = random_gamma_grad(wide, sample)
        return math_ops.reduce_sum(grad * partial, axis=math_ops.range(extra))


# ------------------------------------------------------------------------- ops of a key and counter


@register_op(
    "StatelessRandomGetKeyCounter",
    "seed: Tseed -> key: uint64, counter: uint64",
    "Tseed: {int32, int64} = DT_INT64",
    shape=_key_counter_shapes,
    host_memory=("seed", "key", "counter"),
)
def stateless_random_get_key_counter(xp: Xp, seed: Array) -> Outputs:
    """Return the key and the counter derived from a seed."""
    generator = _from_seed(seed)
    mask = 2**64 - 1
    counter = [generator.counter & mask, generator.counter >> 64]
    return np.array([generator.key], np.uint64), np.array(counter, np.uint64)


@register_op(
    "StatelessRandomGetAlg",
    "-> alg: int32",
    stateful=True,
    shape=lambda c: SCALAR_SHAPE,
    host_memory=("alg",),
)
def stateless_random_get_alg(xp: Xp) -> Array:
    """Return the algorithm of this device."""
    return np.int32(_PHILOX)


@register_op(
    "StatelessRandomGetKeyCounterAlg",
    "seed: Tseed -> key: uint64, counter: uint64, alg: int32",
    "Tseed: {int32, int64} = DT_INT64",
    shape=_key_counter_shapes,
    host_memory=("seed", "key", "counter", "alg"),
)
def stateless_random_get_key_counter_alg(xp: Xp, seed: Array) -> Outputs:
    """Return the key and counter derived from a seed, and the algorithm of this device."""
    generator = _from_seed(seed)
    mask = 2**64 - 1
    counter = [generator.counter & mask, generator.counter >> 64]
    key = np.array([generator.key], np.uint64)
    return key, np.array(counter, np.uint64), np.int32(_PHILOX)


for _op in (
    stateless_random_get_key_counter,
    stateless_random_get_alg,
    stateless_random_get_key_counter_alg,
):
    _op.not_differentiable()


@register_op(
    "StatelessRandomUniformV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "Tshape: {int32, int64} = DT_INT32",
    shape=_keyed_shape,
    host_memory=("shape", "key", "counter", "alg"),
)
def stateless_random_uniform_v2(
    xp: Xp, shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType
) -> Array:
    """Return uniform numbers in [0, 1)."""
    return _fill(xp, shape, _from_key(key, counter, alg, shape), dtype, distributions.uniform)


stateless_random_uniform_v2.not_differentiable()


@register_op(
    "StatelessRandomNormalV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "Tshape: {int32, int64} = DT_INT32",
    shape=_keyed_shape,
    host_memory=("shape", "key", "counter", "alg"),
)
def stateless_random_normal_v2(
    xp: Xp, shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType
) -> Array:
    """Return normal numbers with mean 0 and standard deviation 1."""
    return _fill(xp, shape, _from_key(key, counter, alg, shape), dtype, distributions.normal)


stateless_random_normal_v2.not_differentiable()


@register_op(
    "StatelessTruncatedNormalV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "Tshape: {int32, int64} = DT_INT32",
    shape=_keyed_shape,
    host_memory=("shape", "key", "counter", "alg"),
)
def stateless_truncated_normal_v2(
    xp: Xp, shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType
) -> Array:
    """Return normal numbers; those beyond two standard deviations are drawn again."""
    return _fill(
        xp, shape, _from_key(key, counter, alg, shape), dtype, distributions.truncated_normal
    )


stateless_truncated_normal_v2.not_differentiable()


@register_op(
    "StatelessRandomUniformIntV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, maxval: dtype"
    " -> output: dtype",
    "dtype: {int32, int64, uint32, uint64}",
    "Tshape: {int32, int64} = DT_INT32",
    shape=_keyed_int_shape,
    host_memory=("shape", "key", "counter", "alg", "minval", "maxval"),
)
def stateless_random_uniform_int_v2(
    xp: Xp,
    shape: Array,
    key: Array,
    counter: Array,
    alg: Array,
    minval: Array,
    maxval: Array,
    *,
    dtype: DType,
) -> Array:
    """Return integers in [minval, maxval)."""
    generator = _from_key(key, counter, alg, shape)
    is_empty = not product(wanted_shape(shape))
    limits = checked_limits(minval, maxval, is_empty=is_empty)
    return _fill(xp, shape, generator, dtype, distributions.uniform_integers, *limits)


stateless_random_uniform_int_v2.not_differentiable()


@register_op(
    "StatelessRandomUniformFullIntV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    "dtype: {int32, int64, uint32, uint64} = DT_UINT64",
    "Tshape: {int32, int64} = DT_INT32",
    shape=_keyed_shape,
    host_memory=("shape", "key", "counter", "alg"),
)
def stateless_random_uniform_full_int_v2(
    xp: Xp, shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType
) -> Array:
    """Return integers from the whole range of the type."""
    return _fill(xp, shape, _from_key(key, counter, alg, shape), dtype, distributions.full_integers)


stateless_random_uniform_full_int_v2.not_differentiable()


@register_op(
    "StatelessRandomGammaV3",
    "shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype -> output: dtype",
    "dtype: {half, float, double}",
    "shape_dtype: {int32, int64} = DT_INT32",
    shape=_keyed_shape,
    devices=("CPU",),
)
def stateless_random_gamma_v3(
    xp: Xp, shape: Array, key: Array, counter: Array, alg: Array, alpha: Array
) -> Array:
    """Return samples of Gamma(alpha, 1)."""
    return _gamma(shape, _from_key(key, counter, alg, shape), alpha)


@stateless_random_gamma_v3.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    gradient = _gamma_gradient(op.inputs[0], op.inputs[4], op.outputs[0], grad)
    return None, None, None, None, gradient


@register_op(
    "StatelessShuffle",
    "value: T, key: uint64, counter: uint64, alg: int32 -> output: T",
    "T: type",
    shape=unchanged_shape,
    devices=("CPU",),
)
def stateless_shuffle_op(xp: Xp, value: Array, key: Array, counter: Array, alg: Array) -> Array:
    """Return the rows of a tensor in a random order."""
    generator = _from_key(key, counter, alg)
    if value.size <= 1 or value.shape[0] <= 1:
        return value
    count = value.shape[0] - 1
    return shuffled(value, generator.blocks(np, -(-count // 4)).reshape(-1)[:count].tolist())


# --------------------------------------------------------------------------------- public functions


class Algorithm(enum.Enum):
    """The algorithms for random numbers."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def algorithm_number(alg: TensorLike) -> Any:
    """Return the number of an algorithm given by name, number or :class:`Algorithm`.

    Raises:
      ValueError: there is no algorithm of that name.
      TypeError: the argument has another type.
    """
    if isinstance(alg, (int, Tensor)):
        return alg
    if isinstance(alg, Algorithm):
        return alg.value
    if isinstance(alg, str):
        plain = alg.strip().lower().replace("-", "").replace("_", "")
        for one in Algorithm:
            if one.name.lower().replace("_", "") == plain:
                return one.value
        raise ValueError(_unsupported(alg))
    raise TypeError(f"Can't convert argument `alg` (of value {alg} and type {type(alg)}) to int.")


def _unsupported(alg: TensorLike) -> str:
    return (
        f"Argument `alg` got unsupported value {alg}. Supported values are 1 for the Philox "
        "algorithm, 2 for the ThreeFry algorithm, and 3 for auto-selection."
    )


def _key_counter_alg(
    seed: TensorLike, alg: TensorLike
) -> tuple[TensorResult, TensorResult, TensorResult]:
    """Return key, counter and algorithm for a seed, the inputs of the newer ops.

    Raises:
      ValueError: the algorithm is unknown, or ThreeFry, which no device implements.
    """
    number = algorithm_number(alg)
    if isinstance(number, int) and number not in (_PHILOX, _AUTO_SELECT):
        raise ValueError(_unsupported(alg))
    key, counter = stateless_random_get_key_counter(seed)
    return key, counter, number


_UNIFORM_DTYPES = (
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint32,
    dtypes.uint64,
)


def stateless_uniform(
    shape: TensorLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: TensorLike = "auto_select",
) -> Any:
    """Return numbers from [minval, maxval); integers of the whole range if both are None.

    Raises:
      ValueError: the dtype or the limits are invalid.
    """
    dtype = dtypes.as_dtype(dtype)
    if dtype not in _UNIFORM_DTYPES:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are {_UNIFORM_DTYPES}."
        )
    if dtype.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must be "
                f"both None or not None. Got `minval`={minval} and `maxval`={maxval}."
            )
        if minval is not None and dtype in (dtypes.uint32, dtypes.uint64):
            raise ValueError(
                f"Argument `dtype` got invalid value {dtype} when argument `minval` is not None. "
                "Please don't use unsigned integers in this case."
            )
    elif maxval is None:
        maxval = 1
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        wanted = shape_tensor(shape)
        if dtype.is_integer and minval is None:
            key, counter, alg = _key_counter_alg(seed, alg)
            value = stateless_random_uniform_full_int_v2(
                wanted, key, counter, alg, dtype=dtype, name=scope
            )
        else:
            minval = convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
            key, counter, alg = _key_counter_alg(seed, alg)
            if dtype.is_integer:
                value = stateless_random_uniform_int_v2(
                    wanted, key, counter, alg, minval, maxval, name=scope
                )
            else:
                numbers = stateless_random_uniform_v2(wanted, key, counter, alg, dtype=dtype)
                value = math_ops.add(numbers * (maxval - minval), minval, name=scope)
        set_static_shape(value, shape)
        return value


def _drawn(
    op: Callable[..., TensorResult],
    seed: TensorLike,
    alg: TensorLike,
    shape: TensorLike,
    dtype: DTypeLike,
) -> Any:
    key, counter, alg = _key_counter_alg(seed, alg)
    return op(shape, key, counter, alg, dtype=dtype)


def stateless_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: TensorLike = "auto_select",
) -> Any:
    """Return numbers from a normal distribution."""
    with name_scope(name, "stateless_random_normal", [shape, seed, mean, stddev]) as scope:
        draw = partial(_drawn, stateless_random_normal_v2, seed, alg)
        return spread(draw, shape, mean, stddev, dtype, scope)


def stateless_truncated_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: TensorLike = "auto_select",
) -> Any:
    """Return normal numbers within two standard deviations of the mean."""
    with name_scope(name, "stateless_truncated_normal", [shape, seed, mean, stddev]) as scope:
        draw = partial(_drawn, stateless_truncated_normal_v2, seed, alg)
        return spread(draw, shape, mean, stddev, dtype, scope)


def stateless_binomial(
    shape: TensorLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> TensorResult:
    """Return the number of successes in ``counts`` trials of probability ``probs``."""
    with name_scope(name, "stateless_random_binomial", [shape, seed, counts, probs]):
        wanted = shape_tensor(shape)
        probs = convert_to_tensor(probs, dtype_hint=dtypes.float32, name="probs")
        counts = convert_to_tensor(counts, dtype_hint=probs.dtype, name="counts")
        value = stateless_random_binomial(wanted, seed, counts, probs, dtype=output_dtype)
        set_static_shape(value, shape)
        return value


def stateless_gamma(
    shape: TensorLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> TensorResult:
    """Return numbers from gamma distributions with shapes ``alpha`` and rates ``beta``."""
    with name_scope(name, "stateless_random_gamma", [shape, seed, alpha, beta]):
        wanted = shape_tensor(shape)
        alpha, beta = gamma_parameters(alpha, beta, dtype)
        key, counter, alg = _key_counter_alg(seed, "auto_select")
        numbers = stateless_random_gamma_v3(wanted, key, counter, alg, alpha)
        value = math_ops.maximum(np.finfo(alpha.dtype.as_numpy_dtype).tiny, numbers / beta)
        set_static_shape(value, shape)
        return value


def stateless_poisson(
    shape: TensorLike,
    seed: TensorLike,
    lam: TensorLike,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> TensorResult:
    """Return numbers from Poisson distributions with means ``lam``."""
    with name_scope(name, "stateless_random_poisson", [shape, seed, lam]):
        wanted = shape_tensor(shape)
        value = stateless_random_poisson(wanted, seed, lam, dtype=dtype)
        set_static_shape(value, shape)
        return value


def stateless_parameterized_truncated_normal(
    shape: TensorLike,
    seed: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> TensorResult:
    """Return numbers from normal distributions truncated to bounds."""
    given = [shape, means, stddevs, minvals, maxvals]
    with name_scope(name, "stateless_parameterized_truncated_normal", given):
        wanted = shape_tensor(shape)
        means = convert_to_tensor(means, name="means")
        stddevs = convert_to_tensor(stddevs, name="stddevs")
        minvals = convert_to_tensor(minvals, name="minvals")
        maxvals = convert_to_tensor(maxvals, name="maxvals")
        value = stateless_parameterized_truncated_normal_op(
            wanted, seed, means, stddevs, minvals, maxvals
        )
        set_static_shape(value, shape)
        return value


def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> TensorResult:
    """Return classes drawn from the distribution of each row of logits."""
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        return _categorical(logits, num_samples, output_dtype, seed)


def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> TensorResult:
    """Return classes drawn from the distribution of each row of logits."""
    with name_scope(name, "stateless_categorical", [logits, seed]):
        return _categorical(logits, num_samples, dtype, seed)


def _categorical(
    logits: TensorLike, num_samples: TensorLike, dtype: DTypeLike, seed: TensorLike
) -> TensorResult:
    logits = convert_to_tensor(logits, name="logits")
    dtype = class_dtype(dtype)
    return stateless_multinomial_op(logits, num_samples, seed, output_dtype=dtype)


def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: TensorLike = "auto_select", name: str | None = None
) -> TensorResult:
    """Return the rows of a tensor in a random order that depends on the seed."""
    with name_scope(name, "stateless_shuffle", [value, seed]):
        key, counter, alg = _key_counter_alg(seed, alg)
        return stateless_shuffle_op(value, key, counter, alg)


def split(seed: TensorLike, num: int = 2, alg: TensorLike = "auto_select") -> Any:
    """Return new seeds derived from one seed, one per row."""
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, dtype=seed.dtype, minval=None, maxval=None, alg=alg)


def fold_in(seed: TensorLike, data: TensorLike, alg: TensorLike = "auto_select") -> TensorResult:
    """Return a new seed derived from a seed and an integer."""
    data = convert_to_tensor(data)
    first = stateless_uniform([], seed, dtype=data.dtype, minval=None, maxval=None, alg=alg)
    return array_ops.stack([first, data])
