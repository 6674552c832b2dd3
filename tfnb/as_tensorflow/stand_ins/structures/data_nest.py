"""``tensorflow.python.data.util.nest``: structures of elements, in which a list is one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.framework.sparse_tensor import SparseTensorValue
from tfnb.framework.structures import nest as _nest

_VALUES = (list, str, bytes, bytearray, SparseTensorValue)


def is_sequence(structure: Any) -> bool:
    """Return whether a value is a tuple, a dict or an attrs object; a list is a tensor's value."""
    return not isinstance(structure, _VALUES) and _nest.is_nested(structure)


is_nested = is_sequence


def flatten(structure: Any) -> list[Any]:
    """Return the values of a structure, in order; for one value, a list of it."""
    if not is_sequence(structure):
        return [structure]
    return [value for one in _nest.values_of(structure) for value in flatten(one)]


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Return a structure of the same form with other values.

    Raises:
      TypeError: the values are no sequence.
      ValueError: there are more or fewer of them than the structure has.
    """
    if not (isinstance(flat_sequence, list) or is_sequence(flat_sequence)):
        raise TypeError("flat_sequence must be a sequence")
    if not is_sequence(structure):
        if len(flat_sequence) != 1:
            raise ValueError(
                f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1"
            )
        return flat_sequence[0]
    wanted = len(flatten(structure))
    if len(flat_sequence) != wanted:
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had "
            f"{len(flat_sequence)} elements.  Structure: {structure}, flat_sequence: "
            f"{flat_sequence}."
        )
    values = iter(flat_sequence)
    return _mapped(structure, lambda _: next(values))


def _mapped(structure: Any, function: Callable[[Any], Any]) -> Any:
    if not is_sequence(structure):
        return function(structure)
    members = [_mapped(one, function) for one in _nest.values_of(structure)]
    return _nest.of_same_kind(structure, members)


def map_structure(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, **unknown: Any
) -> Any:
    """Return the structure of what a function returns for the values of structures.

    Raises:
      TypeError: the function cannot be called, or the structures are of different kinds.
      ValueError: there is no structure, their forms differ, or an argument is unknown.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    if unknown:
        raise ValueError("Only valid keyword argument is check_types")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types)
    columns = zip(*map(flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*values) for values in columns])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Check that two structures have the same form.

    Raises:
      ValueError: one has more values or other levels.
      TypeError: their containers are of different types.
    """
    _nest.assert_same_structure(
        _mapped(nest1, _Value), _mapped(nest2, _Value), check_types=check_types
    )


class _Value:
    """A value that is no structure, with its own text."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        return repr(self._value)


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Check that the containers of a structure are those of the other, which may have more levels.

    Raises:
      TypeError: a container stands against a value, or against one of another type.
      ValueError: containers have different lengths or keys.
    """
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    if check_types and not isinstance(input_tree, type(shallow_tree)):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    found, wanted = (list(_nest.values_of(one)) for one in (input_tree, shallow_tree))
    if len(found) != len(wanted):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(found)}, while shallow structure has length {len(wanted)}."
        )
    if check_types and isinstance(shallow_tree, Mapping) and set(input_tree) != set(shallow_tree):
        raise ValueError(
            "The two structures don't have the same keys. Input structure has keys "
            f"{list(input_tree)}, while shallow structure has keys {list(shallow_tree)}."
        )
    for one, other in zip(wanted, found, strict=True):
        assert_shallow_structure(one, other, check_types=check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    """Return the parts of a structure that stand where another has values.

    Raises:
      TypeError, ValueError: see ``assert_shallow_structure``.
    """
    assert_shallow_structure(shallow_tree, input_tree)
    return _flat_up_to(shallow_tree, input_tree)


def _flat_up_to(shallow: Any, deep: Any) -> list[Any]:
    if not is_sequence(shallow):
        return [deep]
    pairs = zip(_nest.values_of(shallow), _nest.values_of(deep), strict=True)
    return [value for one, other in pairs for value in _flat_up_to(one, other)]


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """Return the structure of what a function returns for the parts of other structures.

    Raises:
      ValueError: there is no other structure.
      TypeError, ValueError: see ``assert_shallow_structure``.
    """
    if not inputs:
        raise ValueError("Argument `inputs` is empty. Cannot map over no sequences.")
    columns = zip(*(flatten_up_to(shallow_tree, one) for one in inputs), strict=True)
    return pack_sequence_as(shallow_tree, [func(*parts) for parts in columns])
