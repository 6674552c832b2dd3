"""Pooling as layers: the largest or the mean of each window in one to three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.library.layers import windowed
from tfnb.library.layers.base import InputSpec, Layer
from tfnb.library.nn import pooling as pooling_ops
from tfnb.ops.array import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import IntsLike, TensorLike, TensorResult

EXPORTS = {
    "layers": [
        "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "MaxPooling1D", "MaxPooling2D",
        "MaxPooling3D", "average_pooling1d", "average_pooling2d", "average_pooling3d",
        "max_pooling1d", "max_pooling2d", "max_pooling3d",
    ],
}  # fmt: skip


class Pooling(Layer):
    """The common part of all pooling layers."""

    _rank: ClassVar[int]
    _function: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        pool_size: IntsLike,
        strides: IntsLike,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Set the arguments of the layer.

        Args:
          pool_size: the window's sizes.
          strides: the steps of the window.
          padding: "valid" or "same".
          data_format: "channels_last" or "channels_first".
          name: of the layer.
          **kwargs: of :class:`Layer`.

        Raises:
          ValueError: an argument has an invalid value.
        """
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(name=name, **kwargs)
        self.pool_size = windowed.sizes_of(pool_size, self._rank, "pool_size")
        self.strides = windowed.sizes_of(strides, self._rank, "strides", allow_zero=True)
        self.padding = windowed.checked_padding(padding)
        self.data_format = windowed.checked_data_format(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _pooled(
        self, inputs: TensorLike, ksize: IntsLike, strides: IntsLike, **kwargs: Any
    ) -> TensorResult:
        return type(self)._function(
            inputs, ksize=ksize, strides=strides, padding=self.padding.upper(), **kwargs
        )

    def compute_output_shape(self, input_shape: TensorLike) -> TensorShape:
        """Return the outputs' shape."""
        lengths = windowed.spatial_of(input_shape, self.data_format)
        spatial = [
            windowed.output_length(length, window, self.padding, stride)
            for length, window, stride in zip(lengths, self.pool_size, self.strides, strict=True)
        ]
        return windowed.with_spatial(input_shape, self.data_format, spatial, None)


class Pooling1D(Pooling):
    """Pooling along one dimension."""

    _rank = 1

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the pooled steps, computed as images of width 1."""
        is_last = self.data_format == "channels_last"
        axis = 2 if is_last else 3
        inputs = array_ops.expand_dims(inputs, axis)
        if not is_last:  # as in TensorFlow's layers without a GPU
            inputs = array_ops.transpose(inputs, (0, 2, 3, 1))
        ksize, strides = (1, *self.pool_size, 1, 1), (1, *self.strides, 1, 1)
        outputs = self._pooled(inputs, ksize, strides, data_format="NHWC")
        if not is_last:
            outputs = array_ops.transpose(outputs, (0, 3, 1, 2))
        return array_ops.squeeze(outputs, axis)


class Pooling2D(Pooling):
    """Pooling of images."""

    _rank = 2

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the pooled images."""
        is_last = self.data_format == "channels_last"

        def around(sizes: tuple[int, ...]) -> tuple[int, ...]:
            return (1, *sizes, 1) if is_last else (1, 1, *sizes)

        return self._pooled(
            inputs,
            around(self.pool_size),
            around(self.strides),
            data_format=windowed.format_of_ops(self.data_format, 2),
        )


class Pooling3D(Pooling):
    """Pooling of volumes."""

    _rank = 3

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the pooled volumes."""
        is_last = self.data_format == "channels_last"
        if not is_last:  # as in TensorFlow's layers
            inputs = array_ops.transpose(inputs, (0, 2, 3, 4, 1))
        outputs = self._pooled(inputs, (1, *self.pool_size, 1), (1, *self.strides, 1))
        return outputs if is_last else array_ops.transpose(outputs, (0, 4, 1, 2, 3))


class MaxPooling1D(Pooling1D):
    """The maximum of each window along one dimension."""

    _function = staticmethod(pooling_ops.max_pool)


class MaxPooling2D(Pooling2D):
    """The maximum of each window of images."""

    _function = staticmethod(pooling_ops.max_pool)


class MaxPooling3D(Pooling3D):
    """The maximum of each window of volumes."""

    _function = staticmethod(pooling_ops.max_pool3d)


class AveragePooling1D(Pooling1D):
    """The mean of each window along one dimension."""

    _function = staticmethod(pooling_ops.avg_pool)


class AveragePooling2D(Pooling2D):
    """The mean of each window of images."""

    _function = staticmethod(pooling_ops.avg_pool)


class AveragePooling3D(Pooling3D):
    """The mean of each window of volumes."""

    _function = staticmethod(pooling_ops.avg_pool3d)


def max_pooling1d(
    inputs: TensorLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> TensorResult:
    """Return the maximum of each window along one dimension; see :class:`Pooling`."""
    return MaxPooling1D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling2d(
    inputs: TensorLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> TensorResult:
    """Return the maximum of each window of images; see :class:`Pooling`."""
    return MaxPooling2D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling3d(
    inputs: TensorLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> TensorResult:
    """Return the maximum of each window of volumes; see :class:`Pooling`."""
    return MaxPooling3D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling1d(
    inputs: TensorLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> TensorResult:
    """Return the mean of each window along one dimension; see :class:`Pooling`."""
    return AveragePooling1D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling2d(
    inputs: TensorLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> TensorResult:
    """Return the mean of each window of images; see :class:`Pooling`."""
    return AveragePooling2D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling3d(
    inputs: TensorLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> TensorResult:
    """Return the mean of each window of volumes; see :class:`Pooling`."""
    return AveragePooling3D(pool_size, strides, padding, data_format, name)(inputs)
