"""The requirements of a layer on its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.dtypes import as_dtype
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.structures.nest import flatten

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {"layers": ["InputSpec"]}


class InputSpec:
    """A rank, dimensions and a type that inputs must have; None accepts any."""

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: ShapeLike | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
    ) -> None:
        """Set the requirements.

        Args:
          dtype: the element type.
          shape: the shape, unknown dimensions allowed.
          ndim: the rank.
          max_ndim: the largest rank.
          min_ndim: the smallest rank.
          axes: axis -> size.
          allow_last_axis_squeeze: whether a last axis of size 1 may be missing or added.
          name: the key of the input where a layer takes a dict.

        Raises:
          ValueError: an axis lies beyond the largest rank.
          TypeError: ``axes`` has keys that are not integers.
        """
        self.dtype = None if dtype is None else as_dtype(dtype)
        self.shape = None if shape is None else TensorShape(shape)
        self.ndim = ndim if self.shape is None else self.shape.ndims
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.name = name
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (ValueError, TypeError):
            raise TypeError(
                "Argument `axes` must be a dict with integer keys. Received: axes={axes}"
            ) from None
        most = self.ndim if self.max_ndim is None else self.max_ndim
        if self.axes and most is not None and max(self.axes) > most - 1:
            raise ValueError(
                f"Axis {max(self.axes)} is greater than the maximum allowed value: {most - 1}"
            )

    def __repr__(self) -> str:
        """Return a text with only the requirements that are set."""
        given = {
            "dtype": self.dtype and self.dtype.name,
            "shape": self.shape,
            "ndim": self.ndim,
            "max_ndim": self.max_ndim,
            "min_ndim": self.min_ndim,
            "axes": self.axes,
        }
        return f"InputSpec({', '.join(f'{key}={v}' for key, v in given.items() if v)})"


def assert_input_compatibility(input_spec: Any, inputs: TensorLike, layer_name: str) -> None:
    """Check inputs against one spec or a list of them.

    Raises:
      TypeError: an input is no tensor.
      ValueError: an input does not meet its spec.
    """
    if not input_spec:
        return
    specs = flatten(input_spec)
    values = flatten(inputs)
    if len(specs) != len(values):
        raise ValueError(
            f'Layer "{layer_name}" expects {len(specs)} input(s), but it received {len(values)} '
            f"input tensors. Inputs received: {inputs}"
        )
    for value in values:
        if not hasattr(value, "shape"):
            raise TypeError(
                f"Inputs to a layer should be tensors. Got '{value}' (of type {type(value)}) as "
                f"input for layer '{layer_name}'."
            )
    for index, (spec, value) in enumerate(zip(specs, values, strict=True)):
        if spec is not None:
            _check(spec, value, f'Input {index} of layer "{layer_name}" is incompatible with the')


def _check(spec: InputSpec, value: TensorLike, who: str) -> None:
    shape = TensorShape(value.shape)
    if shape.ndims is None:
        return
    sizes = shape.as_list()
    rank = len(sizes)
    full = f"Full shape received: {tuple(sizes)}"
    if spec.ndim is not None and not spec.allow_last_axis_squeeze and rank != spec.ndim:
        raise ValueError(f"{who} layer: expected ndim={spec.ndim}, found ndim={rank}. {full}")
    if spec.max_ndim is not None and rank > spec.max_ndim:
        raise ValueError(f"{who} layer: expected max_ndim={spec.max_ndim}, found ndim={rank}")
    if spec.min_ndim is not None and rank < spec.min_ndim:
        raise ValueError(
            f"{who} layer: expected min_ndim={spec.min_ndim}, found ndim={rank}. {full}"
        )
    if spec.dtype is not None and value.dtype.name != spec.dtype.name:
        raise ValueError(f"{who} layer: expected dtype={spec.dtype}, found dtype={value.dtype}")
    for axis, size in spec.axes.items():
        if size is not None and sizes[axis] not in (size, None):
            raise ValueError(
                f"{who} layer: expected axis {axis} of input shape to have value {size}, but "
                f"received input with shape {tuple(sizes)}"
            )
    if spec.shape is not None:
        for wanted, found in zip(spec.shape.as_list(), sizes, strict=False):
            if wanted is not None and found is not None and wanted != found:
                raise ValueError(
                    f"{who} layer: expected shape={tuple(spec.shape.as_list())}, found "
                    f"shape={tuple(sizes)}"
                )
