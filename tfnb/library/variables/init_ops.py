"""Initializers: callables ``init(shape, dtype=None, partition_info=None)`` for initial values.

``partition_info`` describes the part of a variable that is made (the full shape and the offset of
the part), so that a part gets the scale of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.random import random_ops

if TYPE_CHECKING:
    from typing import Self

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Config, TensorLike, TensorResult
    from tfnb.library.variables.partition_info import PartitionInfo

EXPORTS = {
    "tf": [
        "constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
        "ones_initializer", "orthogonal_initializer", "random_normal_initializer",
        "random_uniform_initializer", "truncated_normal_initializer",
        "uniform_unit_scaling_initializer", "variance_scaling_initializer", "zeros_initializer",
    ],
    "initializers": [
        "constant:constant_initializer", "glorot_normal:glorot_normal_initializer",
        "glorot_uniform:glorot_uniform_initializer", "he_normal", "he_uniform",
        "identity:identity_initializer", "lecun_normal", "lecun_uniform",
        "ones:ones_initializer", "orthogonal:orthogonal_initializer",
        "random_normal:random_normal_initializer", "random_uniform:random_uniform_initializer",
        "truncated_normal:truncated_normal_initializer",
        "uniform_unit_scaling:uniform_unit_scaling_initializer",
        "variance_scaling:variance_scaling_initializer", "zeros:zeros_initializer",
    ],
}  # fmt: skip

# The standard deviation of a normal distribution truncated at two deviations.
_TRUNCATED_DEVIATION = 0.87962566103423978


class Initializer:
    """The common part of all initializers."""

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> TensorResult:
        """Return the initial value of a variable.

        Args:
          shape: the shape of the value.
          dtype: its type; the initializer's own if not given.
          partition_info: the position of this part in a partitioned variable.
        """
        raise NotImplementedError

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Return an initializer made from the result of ``get_config``."""
        return cls(**config)


def _float_dtype(dtype: DTypeLike | None) -> DType:
    found: DType = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Argument `dtype` is expected to be floating point. Received: {found}.")
    return found


class Zeros(Initializer):
    """Zeros."""

    def __init__(self, dtype: DTypeLike | None = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> Tensor:
        """Return a tensor of zeros."""
        return array_ops.zeros(shape, self.dtype if dtype is None else dtype)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {"dtype": self.dtype.name}


class Ones(Initializer):
    """Ones."""

    def __init__(self, dtype: DTypeLike | None = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> Tensor:
        """Return a tensor of ones."""
        return array_ops.ones(shape, self.dtype if dtype is None else dtype)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {"dtype": self.dtype.name}


class Constant(Initializer):
    """A fixed value: a number for all elements, or the elements themselves."""

    def __init__(
        self,
        value: TensorLike = 0,
        dtype: DTypeLike | None = dtypes.float32,
        verify_shape: bool = False,
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. Expected "
                "Python scalar, list or tuple of values, or numpy.ndarray."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        """Return the value in the requested shape; its last element fills the rest."""
        return array_ops.constant_v1(
            self.value,
            dtype=self.dtype if dtype is None else dtype,
            shape=shape,
            verify_shape=self._verify_shape if verify_shape is None else verify_shape,
        )

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """Random numbers from a uniform distribution between two bounds."""

    def __init__(
        self,
        minval: TensorLike = 0.0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: DTypeLike | None = dtypes.float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> TensorResult:
        """Return random numbers of the requested shape."""
        dtype = self.dtype if dtype is None else dtype
        return random_ops.random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {
            "minval": self.minval,
            "maxval": self.maxval,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class RandomNormal(Initializer):
    """Random numbers from a normal distribution."""

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        seed: int | None = None,
        dtype: DTypeLike | None = dtypes.float32,
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = _float_dtype(dtype)

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> TensorResult:
        """Return random numbers of the requested shape."""
        dtype = self.dtype if dtype is None else dtype
        return random_ops.random_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {
            "mean": self.mean,
            "stddev": self.stddev,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class TruncatedNormal(RandomNormal):
    """Random numbers from a normal distribution truncated at two standard deviations."""

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> TensorResult:
        """Return random numbers of the requested shape."""
        dtype = self.dtype if dtype is None else dtype
        return random_ops.truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class UniformUnitScaling(Initializer):
    """Random numbers with bounds that keep the scale of a layer's inputs in its outputs."""

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike | None = dtypes.float32
    ) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = _float_dtype(dtype)

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> TensorResult:
        """Return random numbers of the requested shape."""
        dtype = self.dtype if dtype is None else dtype
        inputs = 1.0
        for size in _sizes(_whole_shape(shape, partition_info))[:-1]:
            inputs *= float(size)
        bound = math.sqrt(3 / max(inputs, 1.0)) * self.factor
        return random_ops.random_uniform(shape, -bound, bound, dtype, seed=self.seed)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


class VarianceScaling(Initializer):
    """Random numbers whose variance depends on the numbers of inputs and outputs."""

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike | None = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                "Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: "
                f"{mode}"
            )
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                "Argument `distribution` should be one of ('normal', uniform', "
                f"'truncated_normal', 'untruncated_normal'). Received: {distribution}"
            )
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = _float_dtype(dtype)

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> TensorResult:
        """Return random numbers of the requested shape."""
        dtype = self.dtype if dtype is None else dtype
        fan_in, fan_out = _fans(_whole_shape(shape, partition_info))
        fan = {"fan_in": fan_in, "fan_out": fan_out}.get(self.mode, (fan_in + fan_out) / 2.0)
        variance = self.scale / max(1.0, fan)
        if self.distribution in ("normal", "truncated_normal"):
            deviation = math.sqrt(variance) / _TRUNCATED_DEVIATION
            return random_ops.truncated_normal(shape, 0.0, deviation, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            deviation = math.sqrt(variance)
            return random_ops.random_normal(shape, 0.0, deviation, dtype, seed=self.seed)
        bound = math.sqrt(3.0 * variance)
        return random_ops.random_uniform(shape, -bound, bound, dtype, seed=self.seed)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class GlorotUniform(VarianceScaling):
    """Uniform numbers with Glorot's scale, the mean of inputs and outputs."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike | None = dtypes.float32) -> None:
        # The dtype is accepted and not stored, as in TensorFlow: the call's dtype counts.
        super().__init__(mode="fan_avg", distribution="uniform", seed=seed)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Normal numbers with Glorot's scale, the mean of inputs and outputs."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike | None = dtypes.float32) -> None:
        # The dtype is accepted and not stored, as in TensorFlow: the call's dtype counts.
        super().__init__(mode="fan_avg", seed=seed)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class Orthogonal(Initializer):
    """A random matrix whose rows or columns are orthonormal, reshaped."""

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike | None = dtypes.float32
    ) -> None:
        self.gain = gain
        self.dtype = _float_dtype(dtype)
        self.seed = seed

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> TensorResult:
        """Return a matrix whose number of columns is the last dimension, reshaped.

        Raises:
          ValueError: the shape has less than two dimensions.
        """
        from tfnb.ops.linalg.matrix_decomposition_ops import qr

        dtype = self.dtype if dtype is None else dtype
        sizes = _sizes(shape)
        if len(sizes) < 2:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be at least "
                f"two-dimensional. Received shape={shape}"
            )
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        is_wide = rows < columns
        flat = (columns, rows) if is_wide else (rows, columns)
        numbers = random_ops.random_normal(flat, dtype=dtype, seed=self.seed)
        q, r = qr(numbers, full_matrices=False)
        # The signs of R's diagonal make the distribution of orthogonal matrices uniform.
        q *= math_ops.sign(array_ops.diag_part(r))
        if is_wide:
            q = array_ops.matrix_transpose(q)
        return self.gain * array_ops.reshape(q, shape)

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class Identity(Initializer):
    """The identity matrix."""

    def __init__(self, gain: float = 1.0, dtype: DTypeLike | None = dtypes.float32) -> None:
        self.gain = gain
        self.dtype = _float_dtype(dtype)

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> TensorResult:
        """Return a matrix with the gain on its diagonal.

        Raises:
          ValueError: the shape is not that of a matrix.
        """
        from tfnb.ops.linalg.matrix_functions import eye

        whole = _sizes(_whole_shape(shape, partition_info))
        if len(whole) != 2:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be at least "
                f"two-dimensional. Received shape={shape}"
            )
        rows, columns = whole
        value = eye(rows, columns, dtype=self.dtype if dtype is None else dtype)
        if partition_info is not None:
            value = array_ops.slice(value, partition_info.var_offset, shape)
        return self.gain * value

    def get_config(self) -> Config:
        """Return the arguments that make an equal initializer."""
        return {"gain": self.gain, "dtype": self.dtype.name}


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Return normal numbers with LeCun's scale, the number of inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Return uniform numbers with LeCun's scale, the number of inputs."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Return normal numbers with He's scale, half the number of inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Return uniform numbers with He's scale, half the number of inputs."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def _whole_shape(shape: TensorLike, partition_info: PartitionInfo | None) -> Any:
    return shape if partition_info is None else partition_info.full_shape


def _sizes(shape: TensorLike) -> list[int]:
    if isinstance(shape, TensorShape):
        return [int(size) for size in shape.as_list() if size is not None]
    if isinstance(shape, Sequence):
        return [int(size) for size in shape]
    return [int(size) for size in np.asarray(shape)]


def _fans(shape: TensorLike) -> tuple[int, int]:
    """Return the numbers of inputs and outputs that a weight of this shape connects."""
    sizes = _sizes(shape)
    if not sizes:
        return 1, 1
    if len(sizes) == 1:
        return sizes[0], sizes[0]
    field = math.prod(sizes[:-2])
    return sizes[-2] * field, sizes[-1] * field


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
identity_initializer = Identity
