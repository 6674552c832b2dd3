"""Composite tensors, such as ragged or sparse ones, packed into one variant.

Corresponds to TensorFlow's ``composite_tensor_ops.cc``. The metadata define what a variant
represents, and only Python reads them; here only the dtypes of the components are checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.process.records import record
from tfnb.core.shape_inference import SCALAR_SHAPE
from tfnb.ops.base.opaque_values import is_opaque

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Outputs, Variant, Xp

_ATTRS = ("metadata: string", "Tcomponents: list(type) >= 0")
_CPU: dict[str, Any] = {"devices": ("CPU",)}


@record(frozen=True, slots=True)
class CompositeTensorVariant:
    """The components of a composite tensor, and the metadata text that describes it."""

    components: tuple[Any, ...]
    component_types: tuple[dtypes.DType, ...]
    metadata: str | bytes


@register_op(
    "CompositeTensorVariantFromComponents",
    "components: Tcomponents -> encoded: variant",
    *_ATTRS,
    shape=lambda c: SCALAR_SHAPE,
    **_CPU,
)
def composite_tensor_variant_from_components(
    xp: Xp,
    components: Sequence[Array],
    *,
    metadata: str | bytes,
    Tcomponents: Sequence[dtypes.DType],
) -> Variant:
    """Return the components in one variant."""
    return CompositeTensorVariant(tuple(components), tuple(Tcomponents), metadata)


@register_op(
    "CompositeTensorVariantToComponents",
    "encoded: variant -> components: Tcomponents",
    *_ATTRS,
    **_CPU,
)
def composite_tensor_variant_to_components(
    xp: Xp, encoded: Variant, *, Tcomponents: Sequence[dtypes.DType]
) -> Outputs:
    """Return the components in a variant."""
    if not is_opaque(encoded) or not isinstance(encoded, CompositeTensorVariant):
        raise errors.invalid_argument(
            "The input `encoded` must be a scalar CompositeTensorVariant, not a "
            f"{type(encoded).__name__}"
        )
    if len(encoded.components) != len(Tcomponents):
        raise errors.invalid_argument(
            f"Encoded value has {len(encoded.components)} tensor components; expected "
            f"{len(Tcomponents)} components based on type_spec"
        )
    for index, (found, wanted) in enumerate(zip(encoded.component_types, Tcomponents, strict=True)):
        if found is not wanted:
            raise errors.invalid_argument(
                f"Tensor component {index} had dtype {found.name}, but expected dtype {wanted.name}"
            )
    return encoded.components
