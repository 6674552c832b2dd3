"""How values of tensors of type variant travel between processes.

A class of variants offers ``encode``, and registers what decodes its values by their type name, as
in messages of TensorFlow.  Corresponds to TensorFlow's ``variant_op_registry.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType


class VariantTensorData(NamedTuple):
    """A variant in parts.

    Attributes:
      type_name: names its class in messages.
      metadata: what else belongs to it.
      tensors: the tensors that it holds, each with its type.
    """

    type_name: str
    metadata: bytes
    tensors: tuple[tuple[Any, DType], ...]


@runtime_checkable
class EncodableVariant(Protocol):
    """A variant that may be sent to another process."""

    def encode(self) -> VariantTensorData:
        """Return the variant in parts."""


_decoders: dict[str, Callable[[VariantTensorData], Any]] = {}


def register_decoder(type_name: str, decode: Callable[[VariantTensorData], Any]) -> None:
    """Register what makes a variant of its parts."""
    _decoders[type_name] = decode


def decode_variant(data: VariantTensorData) -> Any:
    """Return the variant of its parts.

    Raises:
      InvalidArgumentError: no class of that name is known, or the parts do not fit it.
    """
    found = _decoders.get(data.type_name)
    if found is None:
        raise errors.invalid_argument(
            f"No decoder is registered for variants of the type {data.type_name!r}."
        )
    return found(data)
