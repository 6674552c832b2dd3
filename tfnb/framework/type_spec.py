"""The base class of specs: comparison by generality, and common supertypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from tfnb.core.dtypes import DType
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework import functions_above as above

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXPORTS = {"tf": ["TypeSpec"], "data.experimental": ["Structure:TypeSpec"]}


class TypeSpec:
    """The type of a value: its class, and the known parts of its dtype and shape.

    A subclass is a frozen dataclass; its fields are compared one by one.

    Attributes:
      proto_class: the ``TypeSpecClass`` of its message, or the name it is registered by; "" for a
        spec without a message.
    """

    proto_class: ClassVar[str] = ""

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        raise NotImplementedError(f"{type(self).__name__} describes no values.")

    @property
    def has_parts(self) -> bool:
        """Whether values are containers of tensors for ``nest`` with ``expand_composites``."""
        return False

    def _fields(self) -> tuple[Any, ...]:
        import dataclasses

        return tuple(getattr(self, one.name) for one in dataclasses.fields(self))  # type: ignore[arg-type]

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a spec may describe the same values."""
        if type(spec_or_value) is not type(self):
            return False
        pairs = zip(self._fields(), spec_or_value._fields())
        return all(_is_compatible(one, other) for one, other in pairs)

    def is_subtype_of(self, other: Any) -> bool:
        """Return whether all values of this type are also values of the other."""
        if type(other) is not type(self):
            return False
        return all(_is_below(one, two) for one, two in zip(self._fields(), other._fields()))

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Self | None:
        """Return the most specific type that covers this one and all others, or None."""
        if any(type(other) is not type(self) for other in others):
            return None
        found = []
        for mine, *theirs in zip(self._fields(), *(other._fields() for other in others)):
            common = _common(mine, theirs)
            if common is _NOTHING:
                return None
            found.append(common)
        return type(self)(*found)

    def most_specific_compatible_type(self, other: Any) -> Self:
        """Return the most specific type that covers both.

        Raises:
          ValueError: no type covers both.
        """
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return found

    # ----------------------------------------------------------------------- values and their parts

    def flatten(self) -> list[Any]:
        """Return the types of the parts of a value: here one."""
        return [self]

    def to_tensors(self, value: Any) -> list[Any]:
        """Return the parts of a value: here one."""
        return [value]

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Return the value that consists of these parts."""
        return next(tensors)

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """Return a value of this type, whose parts are placeholders of the default graph.

        Args:
          placeholder_context: ignored.
        """
        return self.from_tensors(part.placeholder_value(None) for part in self.flatten())

    def cast(self, value: Any, casting_context: Any) -> Any:
        """Return a value as one of this type.

        Args:
          value: tensors, or a value of this type.
          casting_context: an object whose ``allow_specs`` says whether specs count as values; or
            None.

        Raises:
          TypeError: a part of the value has another type.
        """
        if isinstance(value, TypeSpec) and getattr(casting_context, "allow_specs", False):
            assert value.is_subtype_of(self), f"Can not cast {value!r} to {self!r}"
            return self
        parts = list(zip(self.flatten(), self.to_tensors(value), strict=True))
        made = [part.cast(one, casting_context) for part, one in parts]
        if all(one is other for one, (_, other) in zip(made, parts, strict=True)):
            return value
        return self.from_tensors(iter(made))

    @property
    def _component_specs(self) -> list[Any]:
        """The types of the parts of a value, TensorFlow's name."""
        return self.flatten()

    def _to_components(self, value: Any) -> list[Any]:
        """Return the parts of a value, TensorFlow's name."""
        return self.to_tensors(value)

    def _from_components(self, components: Sequence[Any]) -> Any:
        """Return the value that consists of these parts, TensorFlow's name."""
        return self.from_tensors(iter(components))

    # --------------------------------------------------------------------------------- as messages

    def proto_state(self) -> tuple[Any, ...]:
        """Return the state that the message of the spec holds."""
        return self._fields()

    @classmethod
    def from_proto_state(cls, state: Any) -> Self:
        """Return the spec for the state in a message."""
        return cls(*state)

    def experimental_as_proto(self) -> Any:
        """Return the spec as a TypeSpecProto."""
        return above.encode_type_spec(self)

    @classmethod
    def experimental_from_proto(cls, proto: Any) -> Any:
        """Return the spec in a TypeSpecProto.

        Raises:
          ValueError: its class is not known.
        """
        return above.decode_type_spec(proto)

    @classmethod
    def experimental_type_proto(cls) -> Any:
        """Return the class of the message."""
        from tfnb.proto import struct_pb2

        return struct_pb2.TypeSpecProto


_NOTHING: Any = object()


def _is_compatible(one: Any, other: Any) -> bool:
    if isinstance(one, (TensorShape, DType)):
        return bool(one.is_compatible_with(other))
    return bool(one == other)


def _is_below(one: Any, other: Any) -> bool:
    if isinstance(one, (TensorShape, TypeSpec)):
        return bool(one.is_subtype_of(other))
    return bool(one == other)


def _common(mine: Any, theirs: Sequence[Any]) -> Any:
    if isinstance(mine, (TensorShape, TypeSpec)):
        found = mine.most_specific_common_supertype(list(theirs))
        return _NOTHING if found is None else found
    return mine if all(one == mine for one in theirs) else _NOTHING
