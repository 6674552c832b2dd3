"""Values that may be missing: OptionalFromValue, OptionalNone and the ops that read them.

An optional is a variant. The gradient of a branch receives the inner values of the forward branch
as optionals; those of the branch that did not run have no value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.process.records import record
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.core.variant_op_registry import VariantTensorData, register_decoder

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Variant, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients


_TYPE_NAME = "tensorflow::data::Optional"
_HAS_VALUE, _HAS_NO_VALUE = b"\x01", b"\x00"


@record(slots=True, frozen=True)
class OptionalVariant:
    """A tuple of tensors, or no value.

    Attributes:
      values: the tensors; None if there is no value.
      types: their dtypes.
    """

    values: tuple[Array, ...] | None = None
    types: tuple[DType, ...] = ()

    # An optional has the shape of a scalar tensor.
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the optional as a tensor: a scalar."""
        return ()

    def encode(self) -> VariantTensorData:
        """Return the optional in parts."""
        if self.values is None:
            return VariantTensorData(_TYPE_NAME, _HAS_NO_VALUE, ())
        return VariantTensorData(_TYPE_NAME, _HAS_VALUE, tuple(zip(self.values, self.types)))

    def zeros_like(self) -> OptionalVariant:
        """Return an optional of zeros of the same shapes; without a value, itself."""
        if self.values is None:
            return self
        zeros = [
            value.zeros_like() if hasattr(value, "zeros_like") else _zeros(value, dtype)
            for value, dtype in zip(self.values, self.types)
        ]
        return OptionalVariant(tuple(zeros), self.types)

    def __add__(self, other: OptionalVariant) -> OptionalVariant:
        if self.values is None or other.values is None:
            if self.values is not other.values:
                raise errors.invalid_argument(
                    "Cannot add optionals because one has a value and the other doesn't."
                )
            return self
        if self.types != other.types:
            raise errors.invalid_argument(
                "Cannot add optionals because they have incompatible element types."
            )
        return OptionalVariant(
            tuple([one + another for one, another in zip(self.values, other.values)]), self.types
        )


def _decode(data: VariantTensorData) -> OptionalVariant:
    if data.metadata == _HAS_NO_VALUE:
        return OptionalVariant()
    values, types = zip(*data.tensors) if data.tensors else ((), ())
    return OptionalVariant(values, types)


register_decoder(_TYPE_NAME, _decode)


def _zeros(value: Array, dtype: DType) -> Array:
    if dtype is dtypes.resource or dtype is dtypes.variant:
        raise errors.unimplemented(f"Cannot make zeros like a {dtype.name} in an optional.")
    if dtype is dtypes.string:
        out = np.empty(np.shape(value), object)
        out[...] = b""
        return out
    return value * 0


@register_op("OptionalNone", "-> optional: variant", shape=lambda c: SCALAR_SHAPE)
def optional_none(xp: Xp) -> Variant:
    """Return an optional without a value."""
    return OptionalVariant()


@register_op(
    "OptionalFromValue",
    "components: Toutput_types -> optional: variant",
    "Toutput_types: list(type) >= 1",
    shape=lambda c: SCALAR_SHAPE,
)
def optional_from_value(xp: Xp, components: list[Array], *, Toutput_types: list[DType]) -> Variant:
    """Return an optional with the given tensors."""
    return OptionalVariant(tuple(components), tuple(Toutput_types))


@optional_from_value.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return optional_get_value(
        grad,
        output_types=[tensor.dtype for tensor in op.inputs],
        output_shapes=[tensor.shape for tensor in op.inputs],
    )


def _value_shapes(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    shapes = list(c.attr("output_shapes"))
    if len(shapes) != len(c.attr("output_types")):
        raise ValueError("`output_types` and `output_shapes` must be the same length.")
    return shapes


@register_op(
    "OptionalGetValue",
    "optional: variant -> components: output_types",
    "output_types: list(type) >= 1",
    "output_shapes: list(shape) >= 1",
    shape=_value_shapes,
    traits="unchecked_shape",
)
def optional_get_value(
    xp: Xp, optional: Variant, *, output_types: list[DType], output_shapes: list[TensorShape]
) -> Outputs:
    """Return the tensors of an optional.

    Raises:
      InvalidArgumentError: it has no value, or its tensors differ from what the node declares.
    """
    values = _optional(optional).values
    if values is None:
        raise errors.invalid_argument("The given optional does not have a value.")
    if len(values) != len(output_types):
        raise errors.invalid_argument(
            f"The given optional has {len(values)} components, expected {len(output_types)}."
        )
    pairs = zip(optional.types, output_types, values, output_shapes)
    for index, (dtype, wanted, value, shape) in enumerate(pairs):
        if dtype is not wanted:
            raise errors.invalid_argument(
                f"The given optional does not match the expected type for component {index}. "
                f"Expected: {wanted.name}. Actual: {dtype.name}."
            )
        if shape.rank is not None and not shape.is_compatible_with(TensorShape(np.shape(value))):
            raise errors.invalid_argument(
                f"The given optional does not match the expected shape for component {index}. "
                f"Expected: {shape}. Actual: {TensorShape(np.shape(value))}."
            )
    return values


@optional_get_value.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return optional_from_value(list(grads))


@register_op(
    "OptionalHasValue", "optional: variant -> has_value: bool", shape=lambda c: SCALAR_SHAPE
)
def optional_has_value(xp: Xp, optional: Variant) -> Array:
    """Return whether an optional has a value."""
    return np.bool_(_optional(optional).values is not None)


def _optional(value: Array) -> OptionalVariant:
    if not isinstance(value, OptionalVariant):
        raise errors.invalid_argument("Input is not a scalar variant that holds an optional.")
    return value
