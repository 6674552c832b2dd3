"""Elements that may be missing: an iterator returns them instead of an error at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.framework.scopes import colocate_with
from tfnb.library.data.attributes import flat_attrs
from tfnb.library.data.structure import from_components, normalized, spec_of, to_components
from tfnb.ops.containers import optional_ops

if TYPE_CHECKING:
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {"data.experimental": ["Optional"]}


class Optional:
    """An element, or nothing.

    Args:
      variant_tensor: the optional as a tensor.
      element_spec: of the element.
    """

    def __init__(self, variant_tensor: Tensor, element_spec: Nested) -> None:
        self._variant_tensor = variant_tensor
        self.element_spec = element_spec

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is an element, a scalar bool."""
        with colocate_with(self._variant_tensor):
            found: Tensor = optional_ops.optional_has_value(self._variant_tensor, name=name)
            return found

    def get_value(self, name: str | None = None) -> Nested:
        """Return the element; raise InvalidArgumentError in the step if there is none."""
        with colocate_with(self._variant_tensor):
            parts = optional_ops.optional_get_value(
                self._variant_tensor, name=name, **flat_attrs(self.element_spec)
            )
            return from_components(self.element_spec, parts)

    @staticmethod
    def from_value(value: TensorLike) -> Optional:
        """Return an optional with an element."""
        element = normalized(value)
        spec = spec_of(element)
        return Optional(optional_ops.optional_from_value(to_components(spec, element)), spec)

    @staticmethod
    def none_from_structure(structure: Nested) -> Optional:
        """Return an optional without an element."""
        return Optional(optional_ops.optional_none(), structure)

    @staticmethod
    def empty(element_spec: Nested) -> Optional:
        """Return an optional without an element."""
        return Optional.none_from_structure(element_spec)
